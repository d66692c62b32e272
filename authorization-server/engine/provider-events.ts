import type { IncomingMessage } from 'node:http'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import { hashId } from '../store/artifact-record.ts'
import { CANARY_GRANT_TYPE } from './canary-grant.ts'
import type { EngineEvent, RequestOrigin } from './engine-events.ts'

const REJECTIONS = {
  'authorization.error': 'authorization',
  'pushed_authorization_request.error': 'pushed_authorization_request',
  'grant.error': 'token',
  'registration_create.error': 'registration',
  'revocation.error': 'revocation',
  'introspection.error': 'introspection',
} as const

type RequestFailure = {
  readonly error: string
  /** The cause of a `server_error`. Undefined for all other errors. */
  readonly cause: Error | undefined
}

/**
 * Converts the events of the engine to events for the audit log and the metrics.
 * @returns a map from each failed request to its failure.
 */
export function reportProviderEvents(
  provider: Provider,
  {
    onEvent,
    isRepeat,
    originOf,
  }: {
    readonly onEvent: (event: EngineEvent) => void
    /** Returns whether a refresh request got the response of an earlier request. */
    readonly isRepeat: (ctx: KoaContextWithOIDC) => boolean
    readonly originOf: (request: IncomingMessage) => RequestOrigin | undefined
  },
): WeakMap<IncomingMessage, RequestFailure> {
  const failures = new WeakMap<IncomingMessage, RequestFailure>()

  for (const [name, endpoint] of Object.entries(REJECTIONS))
    provider.on(name as 'grant.error', (ctx, error) => {
      failures.set(ctx.req, { error: error.error, cause: undefined })
      onEvent({
        kind: 'rejected',
        endpoint,
        error: error.error,
        detail: error.error_detail ?? error.error_description,
        clientId: ctx.oidc.client?.clientId,
        origin: originOf(ctx.req),
      })
    })

  provider.on('server_error', (ctx, cause) => {
    failures.set(ctx.req, { error: 'server_error', cause })
    onEvent({ kind: 'failed', endpoint: ctx.oidc.route, cause, origin: originOf(ctx.req) })
  })
  // Koa emits this event for errors outside of all endpoints, for example when a client disconnects during the
  // response.
  const emitter: NodeJS.EventEmitter = provider
  emitter.on('error', (cause: Error) =>
    onEvent({ kind: 'failed', endpoint: 'connection', cause, origin: undefined }),
  )

  provider.on('registration_create.success', (ctx, client) =>
    onEvent({
      kind: 'client_registered',
      clientId: client.clientId,
      redirectUris: client.redirectUris ?? [],
      origin: originOf(ctx.req),
    }),
  )
  provider.on('grant.success', (ctx) => {
    const origin = originOf(ctx.req)
    onEvent(isRepeat(ctx) ? repeatEvent(ctx, origin) : tokenEvent(ctx, origin))
  })
  provider.on('grant.revoked', (ctx, grantId) =>
    onEvent({
      kind: 'grant_revoked',
      clientId: ctx.oidc.client?.clientId,
      accountId: ownerOf(ctx),
      grant: hashId(grantId),
      reason: revocationReason(ctx),
      origin: originOf(ctx.req),
    }),
  )
  return failures
}

function tokenEvent(ctx: KoaContextWithOIDC, origin: RequestOrigin | undefined): EngineEvent {
  const token = ctx.oidc.entities.AccessToken
  const grantType = ctx.oidc.params?.['grant_type']
  return {
    kind: grantType === 'refresh_token' ? 'token_refreshed' : 'token_issued',
    clientId: ctx.oidc.client?.clientId ?? '',
    accountId: token?.accountId,
    scope: token?.scope,
    grant: token?.grantId === undefined ? undefined : hashId(token.grantId),
    ...(grantType === CANARY_GRANT_TYPE ? { isCanary: true } : {}),
    origin,
  }
}

function repeatEvent(ctx: KoaContextWithOIDC, origin: RequestOrigin | undefined): EngineEvent {
  const token = ctx.oidc.entities.RefreshToken
  return {
    kind: 'refresh_repeated',
    clientId: ctx.oidc.client?.clientId ?? '',
    accountId: token?.accountId,
    grant: token?.grantId === undefined ? undefined : hashId(token.grantId),
    origin,
  }
}

/** Returns the account of the code or token that caused the end of a grant. */
function ownerOf(ctx: KoaContextWithOIDC): string | undefined {
  const { AuthorizationCode, RefreshToken, AccessToken } = ctx.oidc.entities
  return (AuthorizationCode ?? RefreshToken ?? AccessToken)?.accountId
}

function revocationReason(
  ctx: KoaContextWithOIDC,
): Extract<EngineEvent, { readonly kind: 'grant_revoked' }>['reason'] {
  if (ctx.oidc.route === 'revocation') return 'revoked'
  if (ctx.oidc.route !== 'token') return 'grant_ended'
  return ctx.oidc.params?.['grant_type'] === 'refresh_token' ? 'refresh_token_reused' : 'code_reused'
}
