import type { SharedRedis } from '../../redis/shared-redis.ts'
import { createNonces } from './nonces.ts'
import { createSharedUsedProofs } from './shared-used-proofs.ts'
import { createUsedProofs, type UsedProofs } from './used-proofs.ts'
import type { VerifyProofOptions } from './verify-proof.ts'

/** What DPoP proofs are held against. */
export type Proofs = VerifyProofOptions & { readonly used: UsedProofs }

/** Opens what remembers proofs: this process or, with Redis, all gateways together. */
export function openProofs(options: {
  readonly shared: SharedRedis | undefined
  /** undefined: no nonce is asked for. */
  readonly nonceSecret: string | undefined
  /** Counts proofs that only this process knows of, although Redis is configured. */
  readonly onAlone: () => void
}): Proofs {
  const { shared, nonceSecret, onAlone } = options
  return {
    used: shared === undefined ? createUsedProofs() : createSharedUsedProofs({ shared, onAlone }),
    nonces: nonceSecret === undefined ? undefined : createNonces(nonceSecret),
  }
}
