import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type KoaContextWithOIDC, Provider, type TokenEndpointGrantContext } from 'oidc-provider'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { standardClaims } from '../accounts/accounts.ts'
import type { RememberedConsents } from '../consent/remembered-consents.ts'
import { type Store, StoreError } from '../store/store.ts'
import { type BrowserSessions, browserSessions } from './browser-session.ts'
import { CANARY_TOKEN_SECONDS, registerCanaryGrant } from './canary-grant.ts'
import { matchesClientSecret } from './client-secret.ts'
import { findClient, readsCurrentDocument, rejectDocument } from './document-clients.ts'
import type { EngineEvent, RequestOrigin } from './engine-events.ts'
import { keepClient } from './grants.ts'
import type { Interactions } from './interactions.ts'
import {
  type AccessTokenContent,
  createJwtAccessTokens,
  isJwt,
  type TokenClaims,
} from './jwt-access-tokens.ts'
import { acceptNonces } from './proof-nonces.ts'
import { type ProviderAdapterOptions, providerAdapter } from './provider-adapter.ts'
import {
  ACCOUNT_CLIENT,
  describeResource,
  type ProviderConfigurationOptions,
  providerConfiguration,
} from './provider-configuration.ts'
import { reportProviderEvents } from './provider-events.ts'
import { providerInteractions } from './provider-interactions.ts'
import { providerRequest } from './provider-request.ts'
import { createRefreshRotation, type GrantHandler } from './refresh-rotation.ts'
import { requestSource } from './request-source.ts'
import { protectEndedSessions } from './session-writes.ts'
import type { SignInAccount } from './sign-in-step.ts'
import { createProofRegistry, type ProofRequest, type ProofStatus, verifyProof } from './verify-proof.ts'
export type TokenOwner = {
  readonly accountId: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** Thumbprint of the key that the token is bound to. RFC 9449 section 6.1. */
  readonly keyThumbprint: string | undefined
}

export type EngineRequest = {
  readonly origin: RequestOrigin
  /** The integration that authenticated with a pushed authorization request. */
  readonly integrationId?: string | undefined
  /** Receives the `request_uri` of a pushed authorization request that the engine stored. */
  readonly onPushed?: (requestUri: string) => void
  /** Receives the id of the client that the engine identified. */
  readonly onClient?: (clientId: string) => void
  /** Path and query for the engine. Default: the URL of the request. */
  readonly url?: string
  /** The body, which the endpoint has already checked. */
  readonly body?: Buffer
}

/** The engine of the authorization server: an adapter for oidc-provider. */
export type Engine = {
  /**
   * Handles an OAuth request. Writes status, headers and body.
   * @returns `ok`, or the error code in the response.
   */
  handle(request: IncomingMessage, response: ServerResponse, options: EngineRequest): Promise<string>
  readonly interactions: Interactions
  readonly sessions: BrowserSessions
  /**
   * Validates an ID token that this server issued. An expired ID token is valid.
   * @returns undefined when the signature, the issuer or the audience is not valid, or when the client no longer
   * exists.
   */
  readIdToken(idToken: string): Promise<{ readonly clientId: string; readonly subject: string } | undefined>
  /** @returns undefined when no client has this id. */
  findClient(
    clientId: string,
  ): Promise<{ readonly name: string | undefined; readonly verified: boolean } | undefined>
  /**
   * Finds the resources of a code or refresh token.
   * @returns undefined when this client has no such code or token.
   */
  findGrantedResources(
    by: { readonly code: string } | { readonly refreshToken: string },
    clientId: string,
  ): Promise<readonly string[] | undefined>
  /** @returns the owner of an access token for this API, or undefined when the token is not valid. */
  findTokenOwner(accessToken: string): Promise<TokenOwner | undefined>
  /** Verifies a DPoP proof for an endpoint that the engine does not handle. */
  verifyProof(
    proof: string,
    request: Pick<ProofRequest, 'method' | 'accessToken' | 'keyThumbprint'> & { readonly path: string },
  ): Promise<ProofStatus>
}

/** Options for `createEngine()`. A registered client without a grant expires after `unusedClientSeconds`. */
export type EngineOptions = Omit<
  ProviderConfigurationOptions,
  'adapter' | 'renderError' | 'findAccount' | 'onGranted' | 'keepDocument'
> & {
  readonly store: Store
  readonly consents: RememberedConsents
  readonly unusedClientSeconds: number
  readonly pending: ProviderAdapterOptions['pending']
  /**
   * Time in which a repeated refresh request gets the response of the first request. 0: a repeated request ends the
   * grant.
   */
  readonly refreshRepeatSeconds: number
  readonly findAccount: (
    accountId: string,
  ) => Promise<(TokenClaims & SignInAccount & Parameters<typeof standardClaims>[0]) | undefined>
  /** Returns the page for a browser at the authorization endpoint when the server cannot redirect to the client. */
  readonly renderErrorPage: (
    error: { readonly error: string; readonly description: string },
    response: ServerResponse,
  ) => string
  readonly onEvent: (event: EngineEvent) => void
  /**
   * Compares a secret with all accepted secrets of a configured client. Undefined: the client is not configured, or is
   * a public client. The engine then compares with the secret in the metadata of the client.
   */
  readonly verifyClientSecret?: (clientId: string, presented: string) => Promise<boolean> | undefined
}

/** Creates the engine. Takes a few milliseconds and sends no requests. */
export function createEngine(options: EngineOptions): Engine {
  const issuer = new URL(options.issuer)
  const requests = new WeakMap<IncomingMessage, EngineRequest>()
  const originOf = (request: IncomingMessage): RequestOrigin | undefined => requests.get(request)?.origin
  const rotation = createRefreshRotation({
    store: options.store,
    issuer: options.issuer,
    repeatWindowSeconds: options.refreshRepeatSeconds,
    nowSeconds: options.nowSeconds,
  })

  const integrationIds = new Set(options.integrations.map((client) => client.clientId))
  const keep = (clientId: string): Promise<void> =>
    keepClient(clientId, {
      clients: options.store.artifacts('Client'),
      documents: integrationIds.has(clientId) ? undefined : options.clientDocuments,
      grantSeconds: options.lifetimes.refreshTokenMaxSeconds,
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
        ignoresStoredClient: (clientId) =>
          clientId.startsWith('https://') &&
          (readsCurrentDocument() || options.clientDocuments?.accepts(clientId) !== true),
      }),
      findAccount: async (_ctx, accountId) => {
        const account = await options.findAccount(accountId)
        return account === undefined
          ? undefined
          : {
              accountId,
              claims: () => {
                const { profile, email } = standardClaims(account)
                return { sub: accountId, ...profile, ...email }
              },
              tokenClaims: account,
            }
      },
      renderError: (ctx, error) => renderError(ctx, error, options),
      onGranted: (ctx, consent) => {
        if (consent.clientId !== ACCOUNT_CLIENT.id)
          options.onEvent({ kind: 'consent_given', ...consent, origin: originOf(ctx.req) })
      },
      keepDocument: async (clientId) => {
        if (options.clientDocuments?.accepts(clientId) === true) await keep(clientId).catch(rejectDocument)
      },
    }),
  )
  if (options.canary !== undefined)
    registerCanaryGrant(provider, options.canary, {
      resourceServer: describeResource(options.canary.resource, options),
      expiresIn: Math.min(CANARY_TOKEN_SECONDS, options.lifetimes.accessTokenSeconds),
    })
  acceptNonces(provider, options.nonceSecrets)
  protectEndedSessions(provider, options.store)
  provider.proxy = true // safe: the engine gets only the forwarded headers that providerRequest() writes
  provider.silent = true
  provider.Client.prototype.compareClientSecret = function compareClientSecret(presented: string) {
    return (
      options.verifyClientSecret?.(this.clientId, presented) ??
      matchesClientSecret(presented, this.clientSecret)
    )
  }
  const markProofUsed = createProofRegistry({
    artifacts: options.store.artifacts('ReplayDetection'),
    nowSeconds: options.nowSeconds,
  })
  // Replaces the check of the engine, which is not atomic: the engine reads first and writes later.
  // The engine also deletes ids too early. If the clock of a client is ahead, its proof is valid for longer than the
  // engine stores the id.
  provider.ReplayDetection.unique = (clientId, id, windowEndSeconds) =>
    markProofUsed(clientId, id, windowEndSeconds + PROOF_WINDOW_SECONDS)
  const codes = provider.AuthorizationCode as unknown as CodeModel
  const { find: findCode } = codes
  // By default, the engine sets the code for its event listeners only after the exchange. The audit line of a reused
  // code needs the code earlier, because the code names the account.
  codes.find = async function findNamedCode(...args) {
    const code = await findCode.apply(this, args)
    const oidc = Provider.ctx?.oidc
    if (code !== undefined && code.clientId === oidc?.client?.clientId)
      oidc?.entity('AuthorizationCode', code)
    return code
  }
  const jwts = createJwtAccessTokens(options)
  const presentedJwts = new WeakMap<IncomingMessage, PresentedJwt>()
  const AccessToken = provider.AccessToken as unknown as AccessTokenModel
  const { find: findOpaque } = AccessToken
  AccessToken.find = async function findAccessToken(value, ...args) {
    if (value !== PRESENTED_JWT) return findOpaque.call(this, value, ...args)
    // The engine has already checked the client. A request without a valid client therefore causes no signature
    // verification.
    const presented = Provider.ctx && presentedJwts.get(Provider.ctx.req)
    const content = presented && (await jwts.read(presented.token, presented))
    return content && new AccessToken(content)
  }
  const { redirectUriAllowed } = provider.Client.prototype
  provider.Client.prototype.redirectUriAllowed = function redirectUriWithPortAllowed(uri: string): boolean {
    return !INVALID_PORT.test(uri) && redirectUriAllowed.call(this, uri)
  }
  provider.use(async (ctx, next) => {
    await next()
    const clientId = (ctx as Partial<KoaContextWithOIDC>).oidc?.client?.clientId
    if (clientId !== undefined) requests.get(ctx.req)?.onClient?.(clientId)
    describeError(ctx as KoaContextWithOIDC)
    shapeRegistration(ctx as KoaContextWithOIDC)
    shapeRevocation(ctx as KoaContextWithOIDC)
    shapeDocument(ctx as KoaContextWithOIDC)
    shapeFailure(ctx as KoaContextWithOIDC, failures.get(ctx.req)?.cause, options)
  })
  const failures = reportProviderEvents(provider, {
    onEvent: options.onEvent,
    isRepeat: rotation.isRepeat,
    originOf,
  })
  provider.on('pushed_authorization_request.success', (ctx) =>
    requests.get(ctx.req)?.onPushed?.(String((ctx.body as { readonly request_uri: unknown }).request_uri)),
  )
  const callback = provider.callback()

  async function findByJwt(jwt: string): Promise<AccessToken | undefined> {
    const content = await jwts.read(jwt)
    return content && new AccessToken(content)
  }

  return {
    handle: async (request, response, engineRequest) => {
      const jwt = findJwt(request, engineRequest.body)
      const copy = providerRequest(request, { issuer, ...engineRequest, ...jwt })
      requests.set(copy, engineRequest)
      if (jwt !== undefined) presentedJwts.set(copy, jwt)
      await callback(copy, response)
      return failures.get(copy)?.error ?? 'ok'
    },
    sessions: browserSessions({ provider, issuer, store: options.store }),
    findClient: async (clientId) => {
      const client = await findClient(provider, clientId)
      return client && { name: client.clientName, verified: integrationIds.has(clientId) }
    },
    readIdToken: async (idToken) => {
      try {
        const [, payload = ''] = idToken.split('.')
        const { aud } = JSON.parse(Buffer.from(payload, 'base64url').toString())
        const client = typeof aud === 'string' ? await provider.Client.find(aud) : undefined
        if (client === undefined) return undefined
        const verified = await provider.IdToken.validate(idToken, client)
        return { clientId: client.clientId, subject: String(verified.payload['sub']) }
      } catch (error) {
        if (error instanceof StoreError) throw error
        return undefined
      }
    },
    interactions: providerInteractions({
      provider,
      issuer,
      catalogue: options.catalogue,
      integrationIds,
      consents: options.consents,
      store: options.store,
      documents: options.clientDocuments,
      keepClient: keep,
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
          markProofUsed(`${path} ${thumbprint}`, id, expiresAtSeconds),
      }),
    findTokenOwner: async (value) => {
      const token = isJwt(value) ? await findByJwt(value) : await AccessToken.find(value)
      if (token === undefined || !token.isValid || token.aud !== options.issuer) return undefined
      const grant = token.grantId === undefined ? undefined : await provider.Grant.find(token.grantId)
      if (grant?.accountId !== token.accountId || grant.clientId !== token.clientId) return undefined
      if (token.clientId === undefined) return undefined
      if ((await findClient(provider, token.clientId)) === undefined) return undefined
      return {
        accountId: token.accountId,
        clientId: token.clientId,
        scopes: [...token.scopes],
        keyThumbprint: token.jkt,
      }
    },
  }
}

type CodeModel = {
  find(value: string, options?: object): Promise<{ readonly clientId?: string } | undefined>
}

type AccessToken = InstanceType<Provider['AccessToken']>

type AccessTokenModel = {
  new (content: AccessTokenContent): AccessToken
  find(value: string, options?: object): Promise<AccessToken | undefined>
}

/**
 * The value of `token` that the engine gets in place of a JWT, because the engine rejects JWTs. The engine then finds
 * the content of the JWT by the request. The value alone gives no access.
 */
const PRESENTED_JWT = 'presented-jwt'

type PresentedJwt = { readonly token: string; readonly expiredSeconds: number }

/** Time after its expiry in which a JWT can be revoked, because the clock of a gateway may be behind. Seconds. */
const EXPIRED_SECONDS = 300

/**
 * Finds the JWT in a request for introspection or revocation.
 * @returns the JWT, and a body for the engine without the JWT. Undefined: another endpoint, no JWT, or several tokens.
 */
function findJwt(
  request: IncomingMessage,
  body: Buffer | undefined,
): (PresentedJwt & { readonly body: Buffer }) | undefined {
  const [path = ''] = (request.url ?? '').split('?', 1)
  if (body === undefined || (path !== ENDPOINTS.introspection && path !== ENDPOINTS.revocation))
    return undefined
  const form = new URLSearchParams(body.toString())
  const [token = '', ...others] = form.getAll('token')
  if (others.length > 0 || !isJwt(token)) return undefined
  form.set('token', PRESENTED_JWT)
  const expiredSeconds = path === ENDPOINTS.revocation ? EXPIRED_SECONDS : 0
  return { token, body: Buffer.from(form.toString()), expiredSeconds }
}

/** Maximum difference between the `iat` of a proof and the clock of the engine, in both directions. Seconds. */
const PROOF_WINDOW_SECONDS = 300

/**
 * Matches a loopback redirect URI whose port is empty, zero, or written with leading zeros.
 * RFC 8252 section 7.3 allows any port, so the engine does not check the port. Apps cannot listen on the matched ports.
 */
const INVALID_PORT = /^http:\/\/[^/]*:(?:0\d*)?\//

/** Writes an error as JSON. A browser at the authorization endpoint gets a page. docs/interface.md section 7.1. */
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

/**
 * Makes the public documents cacheable, with status 304 for a known `ETag`. Lists only the supported response mode in
 * discovery.
 */
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

/** Adds `error_description` to errors of the engine that have only a code. docs/interface.md section 7.1. */
function describeError(ctx: KoaContextWithOIDC): void {
  const body: unknown = ctx.body
  if (typeof body !== 'object' || body === null || !('error' in body) || 'error_description' in body) return
  ctx.body = { ...body, error_description: `${String(body.error).replaceAll('_', ' ')} at this endpoint` }
}

/** Renames `registered_scope` to `scope` in the response. RFC 7591 section 3.2.1. */
function shapeRegistration(ctx: KoaContextWithOIDC): void {
  if (ctx.path !== ENDPOINTS.registration || ctx.status !== 201) return
  const { registered_scope: scope, ...metadata } = ctx.body as Readonly<Record<string, unknown>>
  ctx.body = { ...metadata, ...(scope === undefined ? {} : { scope }) }
  ctx.status = 201
}

/** Removes the body of a revocation response: the status is the whole response. RFC 7009 section 2.2. */
function shapeRevocation(ctx: KoaContextWithOIDC): void {
  if (ctx.path !== ENDPOINTS.revocation || ctx.status !== 200) return
  ctx.body = null
  ctx.status = 200
}

/**
 * Compares entity tags weakly (RFC 9110 section 13.1.2). This also applies to a request with `no-cache`, which is a
 * revalidation.
 */
function namesTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)
}

/**
 * Changes the response to a failure. A failure of the store gets 503 with `Retry-After`, because the failure is
 * temporary. Any other failure is a defect, and its description names no cause.
 */
function shapeFailure(ctx: KoaContextWithOIDC, cause: Error | undefined, options: EngineOptions): void {
  if (cause === undefined || ctx.status < 500) return
  if (!(cause instanceof StoreError)) {
    const description = 'Internal error. Quote the request ID in reports.'
    renderError(ctx, { error: 'server_error', description }, options)
    return
  }
  ctx.status = 503
  ctx.set('Retry-After', '1')
  const description = 'The authorization server cannot use its store. Try again in a moment.'
  renderError(ctx, { error: 'temporarily_unavailable', description }, options)
}
