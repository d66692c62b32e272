import {
  type Adapter,
  type ClientMetadata,
  type Configuration,
  errors,
  type FindAccount,
  type JWKS,
  type KoaContextWithOIDC,
  type ResourceServer,
} from 'oidc-provider'
import { DPOP_ALGORITHMS } from '../../oauth/dpop/algorithms.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import type { ScopeCatalogue } from '../../oauth/scope.ts'
import type { ClientDocuments } from '../client-documents/client-documents.ts'
import { ACCOUNT_CLIENT_ID, type AuthorizationServerConfig } from '../config.ts'
import type { CookieKeys } from '../keys/cookie-keys.ts'
import type { LookLinks } from '../pages/look.ts'
import { LOCALES } from '../pages/messages/message.ts'
import { CANARY_TOKEN_SECONDS, type CanaryClient, canaryMetadata } from './canary-grant.ts'
import { hashClientSecret } from './client-secret.ts'
import { authorizationSteps, type ConsentStepOptions } from './consent-step.ts'
import { documentFeature, documentFetch, findClient } from './document-clients.ts'
import { completeJwt, extraClaims, formatOf, signingAlgorithm } from './jwt-access-tokens.ts'
import { checkTarget, requestRules } from './request-rules.ts'
import { type SignInStepOptions, withClassChecks } from './sign-in-step.ts'
export type StaticClient = {
  readonly clientId: string
  readonly clientName: string | undefined
  readonly redirectUris: readonly string[]
  /** Client secret. Undefined: a public client. */
  readonly clientSecret: string | undefined
}

/** Options for `providerConfiguration()`. Lifetimes are in seconds. */
export type ProviderConfigurationOptions = Omit<ConsentStepOptions & SignInStepOptions, 'catalogue'> & {
  readonly issuer: string
  readonly catalogue: ScopeCatalogue
  /** Resources for which the server issues tokens. The first resource is the issuer. */
  readonly resources: readonly string[]
  readonly lifetimes: AuthorizationServerConfig['lifetimes'] & { readonly interactionSeconds: number }
  readonly accessTokens: AuthorizationServerConfig['accessTokens']
  readonly signingKeys: JWKS
  readonly cookieKeys: CookieKeys
  /**
   * Secrets for the nonces of DPoP proofs: 32 bytes each, newest first. The engine accepts nonces of all secrets. The
   * first secret creates nonces.
   */
  readonly nonceSecrets: readonly Buffer[]
  /** True: authorization requests may omit `state`. */
  readonly optionalState: boolean
  /** Pages of the operator. The metadata contains the URLs of the terms and of the privacy policy. */
  readonly links?: LookLinks
  readonly gatewayClientId: string
  readonly gatewayClientSecret: string
  readonly integrations: readonly StaticClient[]
  /** Undefined: no client can use client credentials. */
  readonly canary?: CanaryClient | undefined
  /** Undefined: the server accepts no client documents. */
  readonly clientDocuments?: ClientDocuments | undefined
  readonly findAccount: FindAccount
  readonly renderError: (
    ctx: KoaContextWithOIDC,
    /** `expired`: true if the interaction expired, which is not an error of the client. */
    error: { error: string; description: string; expired: boolean },
  ) => void
  readonly adapter: (model: string) => Adapter
  readonly nowSeconds: () => number
}

export function providerConfiguration(options: ProviderConfigurationOptions): Configuration {
  const { issuer, catalogue, canary, lifetimes, links = {} } = options
  const scopes = [...catalogue.keys()]
  return {
    adapter: options.adapter,
    jwks: options.signingKeys,
    clients: [
      gatewayClient(options),
      accountClient(options),
      ...(canary === undefined ? [] : [canaryMetadata(canary)]),
      ...options.integrations.map(integrationClient),
    ],
    clientAuthMethods: ['none', 'client_secret_post'],
    clientDefaults: {
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
    responseTypes: ['code'],
    enabledJWA: { dPoPSigningAlgValues: [...DPOP_ALGORITHMS] },
    scopes,
    claims: {
      openid: ['sub', 'auth_time', 'acr', 'amr'],
      profile: ['name', 'preferred_username'],
      email: ['email', 'email_verified'],
    },
    pkce: { required: () => true },
    extraParams: requestRules(catalogue, options),
    extraClientMetadata: { properties: ['registered_scope'] },
    allowOmittingSingleRegisteredRedirectUri: false,
    findAccount: options.findAccount,
    fetch: documentFetch(options.clientDocuments),
    // The documents have their own limit. The limit of the engine is lower.
    fetchResponseBodyLimits: { 'client_id metadata document': Number.POSITIVE_INFINITY },
    routes: {
      authorization: ENDPOINTS.authorization,
      token: ENDPOINTS.token,
      registration: ENDPOINTS.registration,
      revocation: ENDPOINTS.revocation,
      introspection: ENDPOINTS.introspection,
      jwks: ENDPOINTS.jwks,
      pushed_authorization_request: ENDPOINTS.pushedAuthorizationRequest,
      end_session: ENDPOINTS.endSession,
    },
    interactions: {
      url: (_ctx, interaction) => `${ENDPOINTS.interaction}/${interaction.uid}`,
      policy: withClassChecks(
        authorizationSteps({
          ...options,
          trustedIds: new Set([...options.trustedIds, ACCOUNT_CLIENT.id]),
        }),
        options,
      ),
    },
    // A grant belongs to one authorization. The next authorization gets a new grant, also with a remembered consent.
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    expiresWithSession: async () => false,
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    revokeGrantPolicy: () => true,
    extraTokenClaims: (ctx, token) =>
      token.kind === 'AccessToken' && 'grantId' in token && typeof token.grantId === 'string'
        ? extraClaims(ctx, { grantId: token.grantId, scope: token.scope })
        : undefined,
    formats: { customizers: { jwt: completeJwt } },
    clientBasedCORS: () => true, // the endpoints set CORS headers before the engine handles a request
    cookies: cookies(options),
    ttl: {
      AuthorizationCode: lifetimes.codeSeconds,
      AccessToken: (ctx) => accessTokenTtl(ctx.oidc.entities.Grant?.exp, options),
      IdToken: lifetimes.accessTokenSeconds,
      RefreshToken: (_ctx, token) => refreshTokenTtl(token.iiat, options),
      Grant: (_ctx, { clientId }) => {
        if (clientId === ACCOUNT_CLIENT.id) return lifetimes.codeSeconds
        return clientId === canary?.clientId ? CANARY_TOKEN_SECONDS : lifetimes.refreshTokenMaxSeconds
      },
      Session: lifetimes.sessionSeconds,
      Interaction: lifetimes.interactionSeconds,
    },
    renderError: (ctx, out, error) =>
      options.renderError(ctx, {
        error: out.error,
        description: out.error_description ?? '',
        expired: error instanceof errors.SessionNotFound,
      }),
    discovery: {
      service_documentation: `${issuer}/auth.md`,
      protected_resources: options.resources,
      ui_locales_supported: LOCALES,
      ...(options.secondFactor === undefined ? {} : { acr_values_supported: [options.secondFactor.acr] }),
      ...(links.privacy === undefined ? {} : { op_policy_uri: links.privacy }),
      ...(links.terms === undefined ? {} : { op_tos_uri: links.terms }),
      userinfo_endpoint: issuer + ENDPOINTS.userinfo,
      end_session_endpoint: issuer + ENDPOINTS.endSession, // see account-pages/logout-pages.ts
      revocation_endpoint_auth_methods_supported: ['none', 'client_secret_post'],
      introspection_endpoint_auth_methods_supported: ['client_secret_post'],
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false }, // the engine rejects tokens with an audience; see endpoints/userinfo.ts
      // The server accepts and sends nonces, but does not require nonces. A proof belongs to a code or refresh token,
      // which works only once.
      dPoP: { enabled: true, nonceSecret: options.nonceSecrets[0], requireNonce: () => false },
      rpInitiatedLogout: { enabled: false },
      clientIdMetadataDocument: documentFeature(options.clientDocuments),
      registration: { enabled: true, issueRegistrationAccessToken: false },
      pushedAuthorizationRequests: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
      introspection: { enabled: true, allowedPolicy: introspectionPolicy(options) },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => issuer,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, resource) => {
          checkTarget(ctx.oidc.params?.['resource'], resource, options.resources)
          return describeResource(resource, options)
        },
      },
    },
  }
}

/** Returns the scopes and the token format of a resource. */
export function describeResource(
  resource: string,
  {
    accessTokens,
    catalogue,
    signingKeys,
  }: Pick<ProviderConfigurationOptions, 'accessTokens' | 'catalogue' | 'signingKeys'>,
): ResourceServer {
  return {
    scope: [...catalogue.keys()].join(' '),
    audience: resource,
    accessTokenFormat: formatOf(resource, accessTokens),
    jwt: { sign: { alg: signingAlgorithm(accessTokens, signingKeys) } },
  }
}

function gatewayClient(options: ProviderConfigurationOptions): ClientMetadata {
  return {
    client_id: options.gatewayClientId,
    client_secret: hashClientSecret(options.gatewayClientSecret),
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris: [],
    response_types: [],
    grant_types: [],
  }
}

/**
 * The client of the account page. A person signs in through an authorization request of this client. The page reads the
 * session of the browser. The code is never exchanged. Each authorization needs a grant, which expires with the code.
 */
export const ACCOUNT_CLIENT = {
  id: ACCOUNT_CLIENT_ID,
  redirectPath: `${ENDPOINTS.account}/signed-in`,
} as const

function accountClient({ issuer }: ProviderConfigurationOptions): ClientMetadata {
  return {
    client_id: ACCOUNT_CLIENT.id,
    token_endpoint_auth_method: 'none',
    application_type: 'web',
    redirect_uris: [issuer + ACCOUNT_CLIENT.redirectPath],
  }
}

function integrationClient(client: StaticClient): ClientMetadata {
  return {
    client_id: client.clientId,
    ...(client.clientName === undefined ? {} : { client_name: client.clientName }),
    ...(client.clientSecret === undefined
      ? { token_endpoint_auth_method: 'none' }
      : {
          token_endpoint_auth_method: 'client_secret_post',
          client_secret: hashClientSecret(client.clientSecret),
        }),
    application_type: 'web',
    redirect_uris: [...client.redirectUris],
  }
}

/**
 * Returns the cookie settings. `__Host-` requires Secure and Path=/ (RFC 6265bis section 4.1.3). The cookies of an
 * interaction have the path of the interaction.
 */
function cookies(options: ProviderConfigurationOptions): NonNullable<Configuration['cookies']> {
  const secure = options.issuer.startsWith('https:')
  const attributes = { httpOnly: true, sameSite: 'lax', secure, signed: true, overwrite: true } as const
  return {
    keys: options.cookieKeys,
    names: secure
      ? {
          session: '__Host-scopegate_session',
          interaction: '__Secure-scopegate_interaction',
          resume: '__Secure-scopegate_resume',
        }
      : {
          session: 'scopegate_session',
          interaction: 'scopegate_interaction',
          resume: 'scopegate_resume',
        },
    long: { ...attributes, path: '/' },
    short: attributes,
  }
}

/**
 * Returns the lifetime of an access token. The token expires with its grant at the latest. The end of a grant causes no
 * revocation, so gateways would accept a JWT of an ended grant until the JWT expires.
 */
function accessTokenTtl(grantEndSeconds: number | undefined, options: ProviderConfigurationOptions): number {
  const { accessTokenSeconds } = options.lifetimes
  if (grantEndSeconds === undefined) return accessTokenSeconds
  return Math.max(1, Math.min(accessTokenSeconds, grantEndSeconds - options.nowSeconds()))
}

/** Returns the idle lifetime. The result is smaller if the absolute lifetime of the token family ends earlier. */
function refreshTokenTtl(firstIssuedAt: number | undefined, options: ProviderConfigurationOptions): number {
  const { refreshTokenSeconds, refreshTokenMaxSeconds } = options.lifetimes
  const now = options.nowSeconds()
  const left = (firstIssuedAt ?? now) + refreshTokenMaxSeconds - now
  return Math.max(1, Math.min(refreshTokenSeconds, left))
}

/**
 * Returns the policy of introspection. RFC 7662 section 4. The gateway can introspect all access tokens. A confidential
 * client can introspect its own tokens. The policy makes tokens of deleted clients inactive, because the engine fails
 * on such tokens.
 */
function introspectionPolicy(
  options: ProviderConfigurationOptions,
): (
  ctx: KoaContextWithOIDC,
  client: { readonly clientId: string },
  token: { readonly kind: string; readonly clientId?: string | undefined },
) => Promise<boolean> {
  return async (ctx, client, token) => {
    if (token.clientId === undefined) return false
    if (token.clientId === client.clientId) return true
    if (client.clientId !== options.gatewayClientId || token.kind !== 'AccessToken') return false
    return (await findClient(ctx.oidc.provider, token.clientId)) !== undefined
  }
}
