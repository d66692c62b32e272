import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import { createNonces } from './nonces.ts'
import { createSharedUsedProofs } from './shared-used-proofs.ts'
import { createUsedProofs, type UsedProofs } from './used-proofs.ts'
import type { VerifyProofOptions } from './verify-dpop-proof.ts'

/** The used proofs and the nonces for the verification of DPoP proofs. */
export type Proofs = VerifyProofOptions & { readonly used: UsedProofs }

/** Opens the store of used proofs: in this process or, with Redis, shared by all gateways. */
export function openProofs(options: {
  readonly shared: SharedRedis | undefined
  /** Undefined: proofs need no nonce. */
  readonly nonceSecret: string | undefined
  /** Counts proofs that only this process records, although Redis is configured. */
  readonly onAlone: () => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly failures: FailureLog
}): Proofs {
  const { shared, nonceSecret } = options
  return {
    used: shared === undefined ? createUsedProofs() : createSharedUsedProofs({ ...options, shared }),
    nonces: nonceSecret === undefined ? undefined : createNonces(nonceSecret),
  }
}
