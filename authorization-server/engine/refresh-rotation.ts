import { calculateJwkThumbprint, decodeProtectedHeader } from 'jose'
import { errors, Provider, type TokenEndpointGrantContext } from 'oidc-provider'
import { createSeals } from '../../platform/redis/sealed-value.ts'
import type { ArtifactWrite, Store, StoredArtifact } from '../store/store.ts'
import { grantUse } from '../store/stored-grants.ts'

export type GrantHandler<Context extends TokenEndpointGrantContext> = (ctx: Context) => void | Promise<void>

/** The storage operations of one refresh request. The operations execute together when the response is complete. */
export type Rotation = {
  /**
   * Returns the refresh token as if the token was not consumed. {@link consume} reports an earlier use, after all
   * checks of the request.
   */
  present(stored: StoredArtifact | undefined): StoredArtifact | undefined
  /** @throws {UsedBefore} when the token was used before. */
  consume(): void
  write(write: ArtifactWrite): void
}

/** Makes refresh token rotation atomic and repeatable. */
export type RefreshRotation = {
  wrap<Context extends TokenEndpointGrantContext>(handler: GrantHandler<Context>): GrantHandler<Context>
  /** @returns the rotation of the request that the engine handles now; undefined for other requests. */
  current(): Rotation | undefined
  /** Returns whether the response of the request is a stored response. */
  isRepeat(ctx: object): boolean
}

/** Stops the engine's handler when a request contains a used refresh token. */
class UsedBefore extends Error {}

/** The stored form of the presented refresh token, and the artifacts to write. */
type Refresh = { presented: StoredArtifact | undefined; readonly writes: ArtifactWrite[] }

/**
 * A response, and the parts of the request on which the response depends. The store contains the response and these
 * parts in encrypted form.
 */
type StoredResponse = { readonly asked: string; readonly body: string }

const RESPONSE_MODEL = 'RefreshResponse'

/**
 * Creates the rotation, which exchanges a refresh token in one atomic step of the store.
 * The step consumes the token and writes its successor, the access token and the sealed response.
 * For `repeatWindowSeconds`, the same request of the same client gets the same response. A different request of this
 * client, or a request after the use of the successor, gets status 400. A second use outside the window, or by another
 * client, ends the grant (docs/decisions/0022-repeat-the-refresh-response.md).
 * Source: RFC 9700 section 4.14.2.
 * @param options.repeatWindowSeconds 0: every second use ends the grant.
 */
export function createRefreshRotation(options: {
  readonly store: Pick<Store, 'artifacts' | 'exchange'>
  readonly issuer: string
  readonly repeatWindowSeconds: number
  readonly nowSeconds: () => number
}): RefreshRotation {
  const { store, repeatWindowSeconds, nowSeconds } = options
  // The seal needs no separate secret, because a process that can write to this store can also change the tokens.
  const sealOf = createSeals({ purpose: 'refresh', id: options.issuer, secret: '' })
  const refreshes = new WeakMap<object, Refresh>()
  const repeats = new WeakSet<object>()

  function rotationOf(refresh: Refresh): Rotation {
    return {
      present(stored) {
        refresh.presented = stored
        const { consumed: _consumed, ...unused } = stored ?? {}
        return stored === undefined ? undefined : unused
      },
      consume() {
        if (refresh.presented?.['consumed'] !== undefined) throw new UsedBefore()
      },
      write: (write) => void refresh.writes.push(write),
    }
  }

  /** @returns false when another request used the token first, or the grant has ended. */
  function commit(
    token: string,
    refresh: Refresh,
    { response, grantEndSeconds }: { response: StoredResponse; grantEndSeconds: number | undefined },
  ): Promise<boolean> {
    const { grantId, accountId } = refresh.presented ?? {}
    const seal = sealOf(token)
    const stored = {
      model: RESPONSE_MODEL,
      id: seal.name,
      payload: { grantId, accountId, sealed: seal.close(JSON.stringify(response)).toString('base64url') },
      expiresInSeconds: repeatWindowSeconds,
    }
    const writes = repeatWindowSeconds === 0 ? refresh.writes : [...refresh.writes, stored]
    if (grantEndSeconds !== undefined)
      writes.push(grantUse({ grantId: String(grantId), accountId, grantEndSeconds }, nowSeconds()))
    return store.exchange({ model: 'RefreshToken', id: token }, writes)
  }

  /**
   * Returns the stored response for a used refresh token. Ends the grant when no response is stored.
   * @throws {InvalidGrant} when no response is stored, the request differs, or the successor was used.
   */
  async function findResponse(ctx: TokenEndpointGrantContext, token: string, asked: string): Promise<string> {
    const seal = sealOf(token)
    const stored = await store.artifacts(RESPONSE_MODEL).find(seal.name)
    if (stored === undefined) {
      const used = await store.artifacts('RefreshToken').find(token)
      if (used !== undefined) await endGrant(ctx, used)
      throw new errors.InvalidGrant('refresh token already used')
    }
    const text = seal.open(Buffer.from(String(stored['sealed']), 'base64url'))
    const response = text === undefined ? undefined : (JSON.parse(text) as StoredResponse)
    if (response?.asked !== asked) throw denied(OTHER_REQUEST)
    const { refresh_token: successor } = JSON.parse(response.body) as { refresh_token: string }
    const next = await store.artifacts('RefreshToken').find(successor)
    if (next === undefined || next['consumed'] !== undefined) throw denied(SUCCESSOR_USED)
    return response.body
  }

  async function endGrant(ctx: TokenEndpointGrantContext, token: StoredArtifact): Promise<void> {
    const grantId = String(token['grantId'])
    // The audit line needs the token. If another client sent the request, the engine has not set the token.
    ctx.oidc.entity('RefreshToken', token)
    await store.artifacts('Grant').revokeByGrantId(grantId)
    ctx.oidc.provider.emit('grant.revoked', ctx, grantId)
  }

  return {
    wrap: (handler) => async (ctx) => {
      const { refresh_token: token } = ctx.oidc.params
      if (typeof token !== 'string') return handler(ctx)
      const refresh: Refresh = { presented: undefined, writes: [] }
      refreshes.set(ctx, refresh)
      try {
        await handler(ctx)
        const body = JSON.stringify(ctx.body)
        const response = { asked: await askedFor(ctx), body }
        const grantEndSeconds = ctx.oidc.entities.Grant?.exp
        const isFirst = await commit(token, refresh, { response, grantEndSeconds })
        if (isFirst) return sendJson(ctx, body)
      } catch (error) {
        if (!(error instanceof UsedBefore)) {
          const { presented } = refresh
          const isOfAnotherClient = presented?.['clientId'] !== ctx.oidc.client.clientId
          if (presented?.['consumed'] !== undefined && isOfAnotherClient) await endGrant(ctx, presented)
          throw error
        }
      } finally {
        refreshes.delete(ctx)
      }
      sendJson(ctx, await findResponse(ctx, token, await askedFor(ctx)))
      repeats.add(ctx)
    },
    current: () => {
      const refresh = Provider.ctx === undefined ? undefined : refreshes.get(Provider.ctx)
      return refresh === undefined ? undefined : rotationOf(refresh)
    },
    isRepeat: (ctx) => repeats.has(ctx),
  }
}

const OTHER_REQUEST =
  'The refresh token was already used with another scope or resource. Repeat that request, or use the newest refresh token.'
const SUCCESSOR_USED = 'The refresh token and its successor were already used. Use the newest refresh token.'

/** Returns the error for a repeated use of a refresh token within the window. The grant stays valid. */
function denied(description: string): Error {
  return Object.assign(new errors.InvalidGrant(description), { error_description: description })
}

/**
 * Returns the parts of the request that the response depends on: the sorted scopes, the resource, and the key of the
 * proof.
 */
async function askedFor(ctx: TokenEndpointGrantContext): Promise<string> {
  const { scope, resource } = ctx.oidc.params
  const proof = ctx.get('DPoP')
  // The engine has verified the proof.
  const jwk = proof === '' ? undefined : decodeProtectedHeader(proof).jwk
  return JSON.stringify([
    scope?.split(' ').toSorted(),
    resource,
    jwk === undefined ? undefined : await calculateJwkThumbprint(jwk),
  ])
}

/** Sends the serialized body, so that a repeated request gets the same bytes. */
function sendJson(ctx: TokenEndpointGrantContext, body: string): void {
  ctx.body = body
  ctx.type = 'application/json; charset=utf-8'
}
