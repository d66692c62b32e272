import { hash } from 'node:crypto'
import { type CheckedProof, checkProof, type ProofRequest } from '../../../oauth/dpop/check-proof.ts'
import type { SecretFiles } from '../../../platform/config/secret-files.ts'
import type { FailureLog } from '../../../platform/logging/failure-log.ts'
import type { Logger } from '../../../platform/logging/logger.ts'
import type { SharedRedis } from '../../../platform/redis/shared-redis.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import type { GatewayConfig } from '../../config/gateway-config.ts'
import { parseNonceSecrets } from '../../config/read-secrets.ts'
import { createNonces, type Nonces } from './nonces.ts'
import { createSharedUsedProofs } from './shared-used-proofs.ts'
import { createUsedProofs, type UsedProofs } from './used-proofs.ts'

export type VerifyProofOptions = {
  readonly used: Pick<UsedProofs, 'use'>
  /** If undefined, proofs need no nonce, and the gateway ignores a nonce in a proof. */
  readonly nonces: Nonces | undefined
}

export type HolderRequest = ProofRequest & {
  /** Thumbprint of the key that the token is bound to. */
  readonly thumbprint: string
}

/**
 * The key whose possession the request has proved. If the nonce has changed, `nextNonce` is the new nonce for the
 * client.
 */
export type VerifiedProof = { readonly thumbprint: string; readonly nextNonce: string | undefined }

/**
 * Verifies the DPoP proof of a request. The proof is recorded as used only after all other checks. Invalid proofs
 * therefore take no memory, and a client can send a rejected proof again. Without Redis, the result is synchronous.
 * Source: RFC 9449 sections 4.3, 9 and 11.1.
 * @returns the key; `proof_invalid`; `proof_nonce` when a nonce is needed; `token_invalid` when the token is bound to
 * another key.
 */
export function verifyProof(
  text: string,
  request: HolderRequest,
  options: VerifyProofOptions,
): VerifiedProof | Rejection | Promise<VerifiedProof | Rejection> {
  const proof = checkProof(text, request)
  if (typeof proof === 'string') return { rejected: 'proof_invalid', fault: proof }
  const { nowSeconds } = request
  const nextNonce = options.nonces?.current(nowSeconds)
  const age = options.nonces?.ageOf(proof.nonce, nowSeconds)
  if (nextNonce !== undefined && age === undefined) return { rejected: 'proof_nonce', nonce: nextNonce }

  if (proof.thumbprint !== request.thumbprint)
    return { rejected: 'token_invalid', fault: { reason: 'wrong_key' } }

  const replacementNonce = age === 'current' ? undefined : nextNonce
  const id = hash('sha256', `${proof.thumbprint}\n${proof.id}`, 'base64url')
  const first = options.used.use(id, proof.expiresAtSeconds, nowSeconds)
  return first instanceof Promise
    ? first.then((isFirst) => outcome(isFirst, proof, replacementNonce))
    : outcome(first, proof, replacementNonce)
}

function outcome(
  isFirst: boolean,
  { thumbprint }: CheckedProof,
  nextNonce: string | undefined,
): VerifiedProof | Rejection {
  return isFirst ? { thumbprint, nextNonce } : { rejected: 'proof_invalid', fault: 'replayed' }
}

/** The used proofs and the nonces for the verification of DPoP proofs. */
export type Proofs = VerifyProofOptions & { readonly used: UsedProofs }

/** Opens the store of used proofs: in this process or, with Redis, shared by all gateways. */
export function openProofs(options: {
  readonly shared: SharedRedis | undefined
  readonly dpop: GatewayConfig['dpop']
  readonly secretFiles: Pick<SecretFiles, 'follow'>
  /** Called for each proof that only this process records, although Redis is configured. */
  readonly onAlone: () => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly failures: FailureLog
}): Proofs {
  const { shared, dpop } = options
  return {
    used: shared === undefined ? createUsedProofs() : createSharedUsedProofs({ ...options, shared }),
    nonces: dpop.nonceSecrets === undefined ? undefined : openNonces(dpop.nonceSecrets, options),
  }
}

/** Creates the nonces. When the file of the secrets changes, the secrets of the nonces change too. */
function openNonces(
  initial: readonly string[],
  options: { readonly dpop: GatewayConfig['dpop']; readonly secretFiles: Pick<SecretFiles, 'follow'> },
): Nonces {
  const nonces = createNonces(...initial)
  const file = options.dpop.nonceSecretFile
  if (file === undefined) return nonces
  let active = initial.join('\n')
  options.secretFiles.follow({
    setting: 'dpop.nonceSecretFile',
    file,
    apply(text) {
      const secrets = parseNonceSecrets(text, file)
      if (secrets.join('\n') === active) return undefined
      active = secrets.join('\n')
      nonces.replace(secrets)
      return { accepted: secrets.length }
    },
  })
  return nonces
}
