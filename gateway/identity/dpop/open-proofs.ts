import type { Logger } from '../../../runtime/logger.ts'
import { connectRedis } from '../../../runtime/redis.ts'
import { createNonces } from './nonces.ts'
import { createSharedUsedProofs } from './shared-used-proofs.ts'
import { createUsedProofs, type UsedProofs } from './used-proofs.ts'
import type { VerifyProofOptions } from './verify-proof.ts'

/** What DPoP proofs are held against, until it is closed. */
export type Proofs = VerifyProofOptions & { readonly used: UsedProofs; close(): void }

/** Longest wait for Redis before a proof is looked for here alone. Milliseconds. */
const REDIS_TIMEOUT_MS = 75

/**
 * Opens what remembers proofs: this process or, with Redis, all gateways together. It starts also when Redis is away.
 * @throws {BootError} ERR_REDIS_URL, ERR_REDIS_REFUSED: the setting is wrong.
 */
export async function openProofs(options: {
  readonly redis: { readonly url: string } | undefined
  /** undefined: no nonce is asked for. */
  readonly nonceSecret: string | undefined
  readonly logger: Logger
  /** A clock that never jumps. Milliseconds. */
  readonly tickMs: () => number
  /** Counts proofs that only this process knows of, although Redis is configured. */
  readonly onAlone: () => void
}): Promise<Proofs> {
  const { logger, nonceSecret } = options
  const nonces = nonceSecret === undefined ? undefined : createNonces(nonceSecret)
  if (options.redis === undefined) return { used: createUsedProofs(), nonces, close: () => undefined }

  const redis = await connectRedis({
    url: options.redis.url,
    logger,
    commandTimeoutMs: REDIS_TIMEOUT_MS,
    mayBeAway: true,
  })
  const used = createSharedUsedProofs({
    redis,
    tickMs: options.tickMs,
    onAlone: options.onAlone,
    onChange: (isUsable) =>
      isUsable
        ? logger.info({ event: 'dpop_proofs_shared' }, 'used DPoP proofs are remembered in redis again')
        : logger.warn(
            { event: 'dpop_proofs_local' },
            'redis does not answer: used DPoP proofs are remembered in this process',
          ),
  })
  return { used, nonces, close: () => redis.disconnect() }
}
