import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type KoaContextWithOIDC, Provider, type TokenEndpointGrantContext } from 'oidc-provider'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { Store } from '../store/store.ts'
import { StoreError } from '../store/store-error.ts'
import { matchesClientSecret } from './client-secret.ts'
import type { EngineEvent, RequestOrigin } from './engine-events.ts'
import { reportInactive } from './inactive-token.ts'
import type { Interactions } from './interactions.ts'
import { type ProviderAdapterOptions, providerAdapter } from './provider-adapter.ts'
import { type ProviderConfigurationOptions, providerConfiguration } from './provider-configuration.ts'
import { reportProviderEvents } from './provider-events.ts'
import { providerInteractions } from './provider-interactions.ts'
import { providerRequest } from './provider-request.ts'
import { createRefreshRotation, type GrantHandler } from './refresh-rotation.ts'
import { requestSource } from './request-source.ts'
import { usedProofs } from './used-proofs.ts'
import { type ProofRequest, type ProofVerdict, verifyProof } from './verify-proof.ts'

/** Who a token speaks for. */
export type TokenOwner = {
  readonly accountId: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Of the key that the token is bound to: RFC 9449 section 6.1. */
  readonly keyThumbprint: string | undefined
}

/** What the engine is asked to do with one request. */
export type EngineRequest = {
  readonly origin: RequestOrigin
  /** The integration that authenticated with a pushed authorization request. */
  readonly integrationId?: string | undefined
  /** Receives the `request_uri` of a pushed authorization request that the engine stored. */
  readonly onPushed?: (requestUri: string) => void
  /** Path and query, when they are not the request's own. */
  readonly url?: string
  /** The body, read and checked. */
  readonly body?: Buffer
}

/** The authorization server's engine: oidc-provider behind a port of four words. */
export type Engine = {
  /**
   * Answers an OAuth request; writes status, headers and body.
   * @returns `ok`, or the error code that the client was told.
   */
  handle(request: IncomingMessage, response: ServerResponse, options: EngineRequest): Promise<string>
  readonly interactions: Interactions
  /** @returns what a code or refresh token was issued for; undefined when it is not, or no longer, one of this client. */
  findGrantedResources(
    by: { readonly code: string } | { readonly refreshToken: string },
    clientId: string,
  ): Promise<readonly string[] | undefined>
  /** @returns the owner of an access token for this server's API, or undefined when it is not (or no longer) one. */
  findTokenOwner(accessToken: string): Promise<TokenOwner | undefined>
  /** Verifies a DPoP proof for a request to one of our own endpoints. */
  verifyProof(
    proof: string,
    request: Pick<ProofRequest, 'method' | 'accessToken' | 'keyThumbprint'> & { readonly path: string },
  ): Promise<ProofVerdict>
}

/**
 * What the engine runs with. A registered client that nobody used goes after `unusedClientSeconds`; `onEvent` is told
 * what logs and metrics want to know.
 */
export type EngineOptions = Omit<ProviderConfigurationOptions, 'adapter' | 'renderError' | 'findAccount'> & {
  readonly store: Store
  readonly unusedClientSeconds: number
  readonly pending: ProviderAdapterOptions['pending']
  /** For so long a repeated refresh gets the same response; 0: a repeat ends the grant. */
  readonly refreshRepeatSeconds: number
  readonly findAccount: (
    accountId: string,
  ) => Promise<
    { readonly username: string; readonly name: string; readonly email: string | undefined } | undefined
  >
  /** Writes the page that a browser at the authorization endpoint gets when there is no way back to the client. */
  readonly renderErrorPage: (
    error: { readonly error: string; readonly description: string },
    response: ServerResponse,
  ) => string
  readonly onEvent: (event: EngineEvent) => void
}

/** Builds the engine. Cost: a few milliseconds; nothing is fetched. */
export function createEngine(options: EngineOptions): Engine {
  const issuer = new URL(options.issuer)
  const requests = new WeakMap<IncomingMessage, EngineRequest>()
  const originOf = (request: IncomingMessage): RequestOrigin | undefined => requests.get(request)?.origin
  const rotation = createRefreshRotation({
    store: options.store,
    issuer: options.issuer,
    repeatWindowSeconds: options.refreshRepeatSeconds,
  })

  class RotatingProvider extends Provider {
    override registerGrantType<Params extends object>(
      name: string,
      handler: GrantHandler<TokenEndpointGrantContext<Params>>,
      parameters?: ReadonlySet<string>,
      repeatable?: ReadonlySet<string>,
    ): void {
      const wrapped = name === 'refresh_token' ? rotation.wrap(handler) : handler
      super.registerGrantType(name, wrapped, parameters, repeatable)
    }
  }

  const provider = new RotatingProvider(
    options.issuer,
    providerConfiguration({
      ...options,
      adapter: providerAdapter({
        store: options.store,
        unusedClientSeconds: options.unusedClientSeconds,
        pending: options.pending,
        source: () => {
          const request = Provider.ctx === undefined ? undefined : requests.get(Provider.ctx.req)
          return request && requestSource({ ...request, ...request.origin })
        },
        onCodeReused: (grantId) => {
          if (Provider.ctx !== undefined) provider.emit('grant.revoked', Provider.ctx, grantId)
        },
        rotation: rotation.current,
        isRevocation: () => Provider.ctx?.oidc.route === 'revocation',
      }),
      findAccount: async (_ctx, accountId) => {
        const account = await options.findAccount(accountId)
        return account === undefined
          ? undefined
          : { accountId, claims: () => accountClaims(accountId, account) }
      },
      renderError: (ctx, error) => renderError(ctx, error, options),
    }),
  )
  provider.proxy = true // it only ever sees the forwarded headers that providerRequest() writes
  provider.silent = true
  provider.Client.prototype.compareClientSecret = function compareClientSecret(presented: string): boolean {
    return matchesClientSecret(presented, this.clientSecret)
  }
  const useProof = usedProofs({
    artifacts: options.store.artifacts('ReplayDetection'),
    nowSeconds: options.nowSeconds,
  })
  // The engine's own looks first and writes then, and forgets proofs of clocks that are ahead while they are still good.
  provider.ReplayDetection.unique = (clientId, id, windowEndSeconds) =>
    useProof(clientId, id, windowEndSeconds + PROOF_WINDOW_SECONDS)
  const codes = provider.AuthorizationCode as unknown as CodeModel
  const { find: findCode } = codes
  // The engine names the code to its listeners after the exchange only: the audit line of a reused code needs the account.
  codes.find = async function findNamedCode(...args) {
    const code = await findCode.apply(this, args)
    const oidc = Provider.ctx?.oidc
    if (code !== undefined && code.clientId === oidc?.client?.clientId)
      oidc?.entity('AuthorizationCode', code)
    return code
  }
  const { redirectUriAllowed } = provider.Client.prototype
  provider.Client.prototype.redirectUriAllowed = function redirectUriWithPortAllowed(uri: string): boolean {
    return !ODD_PORT.test(uri) && redirectUriAllowed.call(this, uri)
  }
  provider.use(async (ctx, next) => {
    await next()
    reportInactive(ctx as KoaContextWithOIDC)
    describeError(ctx as KoaContextWithOIDC)
    shapeRegistration(ctx as KoaContextWithOIDC)
    shapeRevocation(ctx as KoaContextWithOIDC)
    shapeDocument(ctx as KoaContextWithOIDC)
    shapeFailure(ctx as KoaContextWithOIDC, troubles.get(ctx.req)?.cause, options)
  })
  const troubles = reportProviderEvents(provider, {
    onEvent: options.onEvent,
    isRepeat: rotation.isRepeat,
    originOf,
  })
  provider.on('pushed_authorization_request.success', (ctx) =>
    requests.get(ctx.req)?.onPushed?.(String((ctx.body as { readonly request_uri: unknown }).request_uri)),
  )
  const callback = provider.callback()

  return {
    handle: async (request, response, engineRequest) => {
      const copy = providerRequest(request, { issuer, ...engineRequest })
      requests.set(copy, engineRequest)
      await callback(copy, response)
      return troubles.get(copy)?.error ?? 'ok'
    },
    interactions: providerInteractions({
      provider,
      issuer,
      catalogue: options.catalogue,
      integrationIds: new Set(options.integrations.map((client) => client.clientId)),
      clients: options.store.artifacts('Client'),
    }),
    findGrantedResources: async (by, clientId) => {
      const artifact =
        'code' in by
          ? await provider.AuthorizationCode.find(by.code)
          : await provider.RefreshToken.find(by.refreshToken)
      if (artifact === undefined || artifact.clientId !== clientId) return undefined
      return [...artifact.resourceIndicators].filter((resource) => resource !== undefined)
    },
    verifyProof: (proof, { path, ...request }) =>
      verifyProof(proof, {
        ...request,
        url: options.issuer + path,
        nowSeconds: options.nowSeconds(),
        isFirstUse: (thumbprint, id, expiresAtSeconds) =>
          useProof(`${path} ${thumbprint}`, id, expiresAtSeconds),
      }),
    findTokenOwner: async (value) => {
      const token = await provider.AccessToken.find(value)
      if (token === undefined || !token.isValid || token.aud !== options.issuer) return undefined
      const grant = token.grantId === undefined ? undefined : await provider.Grant.find(token.grantId)
      if (grant === undefined || grant.accountId !== token.accountId || token.clientId === undefined)
        return undefined
      if ((await provider.Client.find(token.clientId)) === undefined) return undefined
      return {
        accountId: token.accountId,
        clientId: token.clientId,
        scopes: [...token.scopes],
        keyThumbprint: token.jkt,
      }
    },
  }
}

/** The engine's model of authorization codes, as far as it is used here. */
type CodeModel = {
  find(value: string, options?: object): Promise<{ readonly clientId?: string } | undefined>
}

/** The engine takes proofs that were made so long before or after now. */
const PROOF_WINDOW_SECONDS = 300

/**
 * RFC 8252 section 7.3 frees the port of a loopback redirect, and the engine then looks at no part of it: a port that is
 * left empty, zero, or written with leading zeros is no address that an app listens on.
 */
const ODD_PORT = /^http:\/\/[^/]*:(?:0\d*)?\//

function accountClaims(
  accountId: string,
  account: { readonly username: string; readonly name: string; readonly email: string | undefined },
) {
  return {
    sub: accountId,
    name: account.name,
    preferred_username: account.username,
    ...(account.email === undefined ? {} : { email: account.email }),
  }
}

/** Seed section 7: errors are JSON; a page only for a browser at the authorization endpoint. */
function renderError(
  ctx: KoaContextWithOIDC,
  error: { readonly error: string; readonly description: string; readonly expired?: boolean },
  options: EngineOptions,
): void {
  const atBrowser = ctx.path.startsWith(ENDPOINTS.authorization) && ctx.get('accept').includes('text/html')
  if (atBrowser) {
    ctx.type = 'html'
    const shown = error.expired === true ? { ...error, error: 'interaction_expired' } : error
    ctx.body = options.renderErrorPage(shown, ctx.res)
  } else {
    ctx.body = { error: error.error, error_description: error.description }
  }
}

const DISCOVERY_PATHS: readonly string[] = [
  ENDPOINTS.authorizationServerMetadata,
  ENDPOINTS.openidConfiguration,
]

/** The documents that everybody may read: cacheable, and with the one response mode of the contract. */
function shapeDocument(ctx: KoaContextWithOIDC): void {
  const isDiscovery = DISCOVERY_PATHS.includes(ctx.path)
  if ((!isDiscovery && ctx.path !== ENDPOINTS.jwks) || ctx.status !== 200) return
  if (isDiscovery) Object.assign(ctx.body as object, { response_modes_supported: ['query'] })
  const text = JSON.stringify(ctx.body)
  ctx.body = text
  ctx.type = isDiscovery ? 'application/json' : 'application/jwk-set+json'
  ctx.set('Cache-Control', 'public, max-age=300')
  ctx.set('ETag', `"${hash('sha256', text, 'base64url')}"`)
  if (namesTag(ctx.get('If-None-Match'), ctx.response.get('ETag'))) ctx.status = 304
}

/** Seed section 7.1: an error says what is wrong in words too; a few of the engine's are a code alone. */
function describeError(ctx: KoaContextWithOIDC): void {
  const body: unknown = ctx.body
  if (typeof body !== 'object' || body === null || !('error' in body) || 'error_description' in body) return
  ctx.body = { ...body, error_description: `${String(body.error).replaceAll('_', ' ')} at this endpoint` }
}

/** RFC 7591 section 3.2.1: the response has the metadata that the server keeps, under its registered name. */
function shapeRegistration(ctx: KoaContextWithOIDC): void {
  if (ctx.path !== ENDPOINTS.registration || ctx.status !== 201) return
  const { registered_scope: scope, ...metadata } = ctx.body as Readonly<Record<string, unknown>>
  ctx.body = { ...metadata, ...(scope === undefined ? {} : { scope }) }
  ctx.status = 201
}

/** RFC 7009 section 2.2: the status is the whole response. An empty body has no media type. */
function shapeRevocation(ctx: KoaContextWithOIDC): void {
  if (ctx.path !== ENDPOINTS.revocation || ctx.status !== 200) return
  ctx.body = null
  ctx.status = 200
}

/** RFC 9110 section 13.1.2: weak comparison, also when the request says no-cache: it asks for exactly this check. */
function namesTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/** A store that cannot answer is an outage that passes (503), not a defect (500). */
function shapeFailure(ctx: KoaContextWithOIDC, cause: Error | undefined, options: EngineOptions): void {
  if (cause === undefined || ctx.status < 500) return
  if (!(cause instanceof StoreError)) {
    const description = 'The server met an unexpected condition.'
    renderError(ctx, { error: 'server_error', description }, options)
    return
  }
  ctx.status = 503
  ctx.set('Retry-After', '1')
  const description = 'The authorization server cannot reach its store. Try again in a moment.'
  renderError(ctx, { error: 'temporarily_unavailable', description }, options)
}
