import { type Adapter, type AdapterPayload, errors } from 'oidc-provider'
import type { ArtifactBound, ArtifactSource, Store } from '../store/store.ts'
import { hashClientSecret } from './client-secret.ts'
import type { Rotation } from './refresh-rotation.ts'

/** The storage of the engine. */
export type ProviderAdapterOptions = {
  readonly store: Store
  /** Registered clients that never got a grant expire after this time. */
  readonly unusedClientSeconds: number
  /** Bound of unfinished authorization requests, and separately of pushed ones. */
  readonly pending: ArtifactBound
  /** Source of the request that the engine handles now. */
  readonly source: () => ArtifactSource | undefined
  /** Called when two requests used one code at the same time, which ends its grant. */
  readonly onCodeReused: (grantId: string) => void
  /** The refresh that the current request performs: its operations are collected, not done. */
  readonly rotation: () => Rotation | undefined
  /** Whether the engine handles a revocation now. */
  readonly isRevocation: () => boolean
}

/** The engine stores these for anybody, so their number is bounded. */
const BOUNDED: readonly string[] = ['Interaction', 'PushedAuthorizationRequest']

/** The models that a refresh writes. */
const ROTATED: readonly string[] = ['RefreshToken', 'AccessToken']

/** The engine destroys these only where it ends their grant next. */
const ENDS_WITH_GRANT: readonly string[] = ['Grant', 'AccessToken', 'RefreshToken']

/**
 * Gives the engine its storage: one adapter per model over the store.
 * It adds: a code, refresh token or pushed request is consumed exactly once (compare-and-set), client secrets
 * are stored as hashes, and clients without a grant expire.
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
        ? artifacts.upsert(id, atRest(model, payload), expiresInSeconds)
        : artifacts.upsertBounded(id, atRest(model, payload), expiresInSeconds, {
            source,
            bound: options.pending,
          })
    },
    find: async (id) => {
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
        throw new errors.InvalidRequestUri('request_uri was used already')
      // RFC 6749 §4.1.2: a second use of a code revokes its tokens, also when both uses are parallel.
      if (model === 'AuthorizationCode') {
        const grantId = grantOf(await artifacts.find(id))
        if (grantId !== undefined) {
          await artifacts.revokeByGrantId(grantId)
          options.onCodeReused(grantId)
        }
      }
      throw new errors.InvalidGrant('lost the race for a value that works once')
    },
    destroy: async (id) => {
      // All in one step: were the token gone and its grant not, asking again would find nothing that is left to revoke.
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
 * Lets the engine revoke each token that the store still has: by the clock of this server it may have expired, by another one
 * it has not. RFC 7009 section 2.1.
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

/** An interaction carries the plain session id, which only the browser's cookie may hold. */
function atRest(model: string, payload: AdapterPayload): AdapterPayload {
  if (model !== 'Interaction' || payload.session?.cookie === undefined) return payload
  const { cookie: _cookie, ...session } = payload.session
  return { ...payload, session } as AdapterPayload
}
