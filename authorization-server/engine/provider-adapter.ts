import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { ArtifactBound, ArtifactSource, Store } from '../store/store.ts'
import { hashClientSecret } from './client-secret.ts'
import type { Rotation } from './refresh-rotation.ts'

export type ProviderAdapterOptions = {
  readonly store: Store
  /** Registered clients without a grant expire after this time. */
  readonly unusedClientSeconds: number
  /** Maximum number of unfinished authorization requests. The same limit applies separately to pushed requests. */
  readonly pending: ArtifactBound
  /** Returns the source of the request that the engine handles now. */
  readonly source: () => ArtifactSource | undefined
  /** Called after the adapter ended the grant of a code that two concurrent requests used. */
  readonly onCodeReused: (grantId: string) => void
  /**
   * Returns the rotation of the current refresh request. The adapter adds its operations to the rotation instead of
   * executing the operations.
   */
  readonly rotation: () => Rotation | undefined
  /**
   * Returns whether the engine must not use the stored copy of a client document: the engine reads the current document
   * instead, or the host of the document is not listed any more.
   */
  readonly ignoresStoredClient?: (clientId: string) => boolean
  readonly isRevocation: () => boolean
}

/**
 * Models with a limited number of artifacts, because anonymous clients can cause the engine to store such artifacts.
 */
const BOUNDED: readonly string[] = ['Interaction', 'PushedAuthorizationRequest']

const ROTATED: readonly string[] = ['RefreshToken', 'AccessToken']

/** After the engine destroys an artifact of these models, the engine ends the grant of the artifact. */
const ENDS_WITH_GRANT: readonly string[] = ['Grant', 'AccessToken', 'RefreshToken']

/**
 * Creates the storage adapters of the engine, one per model. In addition to storage:
 * - A code, refresh token or pushed request is consumed exactly once (compare-and-set).
 * - The store contains only hashes of client secrets.
 * - Clients without a grant expire.
 */
export function providerAdapter(options: ProviderAdapterOptions): (model: string) => Adapter {
  return (model) => modelAdapter(model, options)
}

function modelAdapter(model: string, options: ProviderAdapterOptions): Adapter {
  const artifacts = options.store.artifacts(model)
  const found = (stored: Record<string, unknown> | undefined) => stored as AdapterPayload | undefined
  const rotation = ROTATED.includes(model) ? options.rotation : () => undefined

  return {
    upsert: async (id, payload, expiresInSeconds) => {
      const running = rotation()
      if (running !== undefined) return running.write({ model, id, payload, expiresInSeconds })
      if (model === 'Client')
        return artifacts.upsert(
          id,
          withHashedSecret(payload),
          expiresInSeconds ?? options.unusedClientSeconds,
        )
      const source = BOUNDED.includes(model) ? options.source() : undefined
      return source === undefined || expiresInSeconds === undefined
        ? artifacts.upsert(id, payload, expiresInSeconds)
        : artifacts.upsertBounded(id, payload, expiresInSeconds, {
            source,
            bound: options.pending,
          })
    },
    find: async (id) => {
      if (model === 'Client' && options.ignoresStoredClient?.(id) === true) return undefined
      const isRevocation = options.isRevocation()
      const stored = await artifacts.find(id, { expired: isRevocation })
      const running = rotation()
      if (running !== undefined) return found(running.present(stored))
      return found(isRevocation ? withoutExpiry(stored) : stored)
    },
    findByUid: async (uid) => found(await artifacts.findByUid(uid)),
    findByUserCode: async (userCode) => found(await artifacts.findByUserCode(userCode)),
    consume: async (id) => {
      const running = rotation()
      if (running !== undefined) return running.consume()
      if (await artifacts.consume(id)) return
      if (model === 'PushedAuthorizationRequest')
        throw new errors.InvalidRequestUri('request_uri was already used')
      // RFC 6749 section 4.1.2: a second use of a code revokes its tokens, also when both uses are concurrent.
      if (model === 'AuthorizationCode') {
        const grantId = grantOf(await artifacts.find(id))
        if (grantId !== undefined) {
          await artifacts.revokeByGrantId(grantId)
          options.onCodeReused(grantId)
        }
      }
      throw new errors.InvalidGrant('a concurrent request used this single-use value first')
    },
    destroy: async (id) => {
      // Ends the grant before it destroys the token. After a failure between the two steps, a retry still finds the
      // grant.
      if (ENDS_WITH_GRANT.includes(model)) {
        const grantId = model === 'Grant' ? id : grantOf(await artifacts.find(id, { expired: true }))
        if (grantId !== undefined) await artifacts.revokeByGrantId(grantId)
      }
      await artifacts.destroy(id)
    },
    revokeByGrantId: (grantId) => artifacts.revokeByGrantId(grantId),
  }
}

/**
 * Removes the effect of the expiry, so that the engine revokes each token that the store still has. RFC 7009 section
 * 2.1. The token may still be valid according to the clock of another server.
 */
function withoutExpiry(stored: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  return stored?.['exp'] === undefined ? stored : { ...stored, exp: Number.MAX_SAFE_INTEGER }
}

function grantOf(stored: Record<string, unknown> | undefined): string | undefined {
  const grantId = stored?.['grantId']
  return typeof grantId === 'string' ? grantId : undefined
}

function withHashedSecret(payload: AdapterPayload): AdapterPayload {
  return payload.client_secret === undefined
    ? payload
    : { ...payload, client_secret: hashClientSecret(payload.client_secret) }
}
