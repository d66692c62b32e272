import { createHash, timingSafeEqual } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import type { ClientAuth, Configuration, ServerMetadata } from 'openid-client'
import type { SignInProvider } from '../config.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { ProviderError } from './provider-error.ts'

/** The authentication that the client of this server requests. OpenID Connect Core 1.0 section 3.1.2.1. */
export type AuthenticationRequest = {
  readonly prompt: readonly string[]
  readonly maxAgeSeconds: number | undefined
  readonly loginHint: string | undefined
  readonly acrValues: string | undefined
  readonly uiLocales: string | undefined
}

/** Secrets of one sign-in. See `sign-in-attempts.ts`. */
export type AttemptSecrets = { readonly state: string; readonly nonce: string; readonly codeVerifier: string }

/** A person after authentication at the provider. All checks of the ID token passed. */
export type ProviderIdentity = {
  readonly issuer: string
  readonly subject: string
  /** Claims of the ID token, and claims of the userinfo response that the ID token does not contain. Untrusted. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly acr: string | undefined
  readonly amr: readonly string[] | undefined
  readonly authTimeSeconds: number | undefined
}

/** The relying party of one OpenID provider. */
export type ProviderClient = {
  readonly provider: SignInProvider
  /**
   * Returns the URL at which the person signs in.
   * @throws {ProviderError} `unavailable`, `invalid`.
   */
  authorizationUrl(secrets: AttemptSecrets, request: AuthenticationRequest): Promise<URL>
  /**
   * Exchanges the code of an authorization response, and checks the response and the ID token.
   * @param query the query of the request at the redirect URI.
   * @throws {ProviderError} `unavailable`, `invalid`, `denied`.
   */
  complete(
    query: string,
    secrets: AttemptSecrets,
    request: Pick<AuthenticationRequest, 'maxAgeSeconds'> & {
      /** Time from which the authentication must be, if the client requested a new authentication. */
      readonly sinceSeconds: number | undefined
    },
  ): Promise<ProviderIdentity>
}

type OpenidClient = typeof import('openid-client')
type Discovered = {
  readonly metadata: ServerMetadata
  readonly atSeconds: number
  /** A configuration for each client secret, so that each secret keeps its cached keys of the provider. */
  readonly configurations: Map<string, Configuration>
}

/** After this time, the server reads the metadata of a provider again. */
const METADATA_SECONDS = 3_600
const TIMEOUT_SECONDS = 5
/** Accepted difference between the clocks of this server and of the provider. */
const CLOCK_TOLERANCE_SECONDS = 30

/**
 * Creates the relying party of a provider. The first sign-in reads the metadata of the provider, so the server also
 * starts without the provider.
 * @param options.clientSecrets returns the secrets, newest first. If the provider rejects the newest secret, the client
 * tries the older secrets. The provider can therefore change its secret later than this server.
 */
export function createProviderClient(options: {
  readonly provider: SignInProvider
  readonly redirectUri: string
  readonly clientSecrets: () => readonly string[]
  readonly nowSeconds: () => number
}): ProviderClient {
  const { provider, redirectUri, nowSeconds } = options
  const isInsecure = provider.issuer.startsWith('http:')
  let discovered: Discovered | undefined
  let discovering: Promise<Discovered> | undefined

  async function discover(openid: OpenidClient): Promise<Discovered> {
    const configuration = await openid.discovery(
      new URL(provider.issuer),
      provider.clientId,
      undefined,
      openid.None(),
      {
        algorithm: 'oidc',
        timeout: TIMEOUT_SECONDS,
        [openid.customFetch]: boundedFetch,
        ...(isInsecure ? { execute: [openid.allowInsecureRequests] } : {}),
      },
    )
    const metadata = configuration.serverMetadata()
    // The library compares normalized URLs, and accepts any tenant of Entra ID. OpenID Connect Discovery section 4.3
    // requires the same characters.
    if (metadata.issuer !== provider.issuer) throw new ProviderError('invalid', 'issuer in metadata')
    return { metadata, atSeconds: nowSeconds(), configurations: new Map() }
  }

  async function currentMetadata(openid: OpenidClient): Promise<Discovered> {
    if (discovered !== undefined && nowSeconds() - discovered.atSeconds < METADATA_SECONDS) return discovered
    discovering ??= discover(openid).finally(() => {
      discovering = undefined
    })
    try {
      discovered = await discovering
    } catch (error) {
      if (discovered === undefined) throw error // otherwise the earlier metadata stays in use
    }
    return discovered
  }

  function configurationFor(
    { metadata, configurations }: Discovered,
    secret: string,
    openid: OpenidClient,
  ): Configuration {
    const present = configurations.get(secret)
    if (present !== undefined) return present
    const auth = clientAuthentication(metadata, secret, openid)
    const configuration = new openid.Configuration(metadata, provider.clientId, undefined, auth)
    configuration[openid.customFetch] = boundedFetch
    configuration.timeout = TIMEOUT_SECONDS
    if (isInsecure) openid.allowInsecureRequests(configuration)
    openid.enableNonRepudiationChecks(configuration) // verifies the signature of the ID token
    configurations.set(secret, configuration)
    return configuration
  }

  /** Runs `work` with each accepted secret until the provider does not reject the secret. */
  async function withSecret<T>(
    openid: OpenidClient,
    work: (configuration: Configuration) => Promise<T>,
  ): Promise<T> {
    const found = await currentMetadata(openid)
    const [newest = '', ...older] = options.clientSecrets()
    try {
      return await work(configurationFor(found, newest, openid))
    } catch (error) {
      let failure = error
      for (const secret of older) {
        if (!isSecretRejected(failure, openid)) break
        try {
          return await work(configurationFor(found, secret, openid))
        } catch (next) {
          failure = next
        }
      }
      throw failure
    }
  }

  return {
    provider,
    authorizationUrl: (secrets, request) =>
      asProviderError(async (openid) => {
        const found = await currentMetadata(openid)
        const configuration = configurationFor(found, options.clientSecrets()[0] ?? '', openid)
        return openid.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: provider.scopes.join(' '),
          state: secrets.state,
          nonce: secrets.nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(secrets.codeVerifier),
          code_challenge_method: 'S256',
          ...forwardedParameters(request),
        })
      }),
    complete: (query, secrets, request) =>
      asProviderError((openid) =>
        withSecret(openid, async (configuration) => {
          const url = new URL(redirectUri)
          url.search = query
          const tokens = await openid.authorizationCodeGrant(configuration, url, {
            expectedState: secrets.state,
            expectedNonce: secrets.nonce,
            pkceCodeVerifier: secrets.codeVerifier,
            idTokenExpected: true,
            ...(request.maxAgeSeconds === undefined ? {} : { maxAge: request.maxAgeSeconds }),
          })
          const claims: Readonly<Record<string, unknown>> = tokens.claims() ?? {}
          checkClaims(claims, tokens, { ...request, provider, nowSeconds: nowSeconds() })
          const subject = String(claims['sub'])
          return {
            issuer: provider.issuer,
            subject,
            claims: { ...(await missingClaims(openid, configuration, tokens, claims, provider)), ...claims },
            acr: shortText(claims['acr']),
            amr: methodsOf(claims['amr']),
            authTimeSeconds: numberOf(claims['auth_time']),
          }
        }),
      ),
  }
}

/** Returns the parameters of the request to this server that the provider also gets. */
function forwardedParameters(request: AuthenticationRequest): Record<string, string> {
  const { prompt, maxAgeSeconds, loginHint, acrValues, uiLocales } = request
  const parameters = {
    prompt: prompt.length === 0 ? undefined : prompt.join(' '),
    max_age: maxAgeSeconds?.toString(),
    login_hint: loginHint,
    acr_values: acrValues,
    ui_locales: uiLocales,
  }
  return Object.fromEntries(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, value]],
    ),
  )
}

function clientAuthentication(metadata: ServerMetadata, secret: string, openid: OpenidClient): ClientAuth {
  // Without the member, the provider supports client_secret_basic. OpenID Connect Discovery 1.0 section 3.
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (methods.includes('client_secret_basic')) return openid.ClientSecretBasic(secret)
  if (methods.includes('client_secret_post')) return openid.ClientSecretPost(secret)
  throw new ProviderError('invalid', 'no supported client authentication method')
}

function isSecretRejected(error: unknown, openid: OpenidClient): boolean {
  if (error instanceof openid.ResponseBodyError) return error.error === 'invalid_client'
  return error instanceof openid.WWWAuthenticateChallengeError && error.status === 401
}

/** Checks that `openid-client` does not make. OpenID Connect Core 1.0 sections 2, 3.1.3.6 and 3.1.3.7. */
function checkClaims(
  claims: Readonly<Record<string, unknown>>,
  tokens: { readonly id_token?: string | undefined; readonly access_token: string },
  expected: {
    readonly provider: SignInProvider
    readonly sinceSeconds: number | undefined
    readonly nowSeconds: number
  },
): void {
  const { azp, at_hash: atHash, sub } = claims
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) throw new ProviderError('invalid', 'sub')
  if (azp !== undefined && azp !== expected.provider.clientId) throw new ProviderError('invalid', 'azp')
  if (atHash !== undefined && !matchesHash(atHash, tokens.access_token, tokens.id_token ?? ''))
    throw new ProviderError('invalid', 'at_hash')
  const issuedAt = numberOf(claims['iat']) ?? 0
  if (issuedAt > expected.nowSeconds + CLOCK_TOLERANCE_SECONDS) throw new ProviderError('invalid', 'iat')
  const authTime = numberOf(claims['auth_time'])
  if (authTime === undefined) return
  if (authTime > expected.nowSeconds + CLOCK_TOLERANCE_SECONDS)
    throw new ProviderError('invalid', 'auth_time')
  const { sinceSeconds } = expected
  if (sinceSeconds !== undefined && authTime < sinceSeconds - CLOCK_TOLERANCE_SECONDS)
    throw new ProviderError('invalid', 'auth_time before the sign-in')
}

/** At most 255 ASCII characters. OpenID Connect Core 1.0 section 2. This pattern also excludes control characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

/** Returns whether `at_hash` is the left half of the hash of the access token. */
function matchesHash(atHash: unknown, accessToken: string, idToken: string): boolean {
  const { alg = '' } = decodeProtectedHeader(idToken)
  const digest = alg.startsWith('Ed') ? 'sha512' : `sha${alg.slice(-3)}`
  if (!/^sha(256|384|512)$/.test(digest) || typeof atHash !== 'string') return false
  const whole = createHash(digest).update(accessToken).digest()
  const expected = Buffer.from(whole.subarray(0, whole.length / 2).toString('base64url'))
  const presented = Buffer.from(atHash)
  return presented.length === expected.length && timingSafeEqual(presented, expected)
}

/** Reads claims from the userinfo endpoint if the ID token lacks a claim that the server needs. */
async function missingClaims(
  openid: OpenidClient,
  configuration: Configuration,
  tokens: { readonly access_token: string },
  claims: Readonly<Record<string, unknown>>,
  { claims: mapping, admit }: SignInProvider,
): Promise<Readonly<Record<string, unknown>>> {
  const wanted = [mapping.name, mapping.email, mapping.groups, mapping.roles, ...admit.claims.keys()]
  const isMissing = wanted.some(
    (name) => name !== undefined && !(name in claims) && !((name.split('.')[0] ?? '') in claims),
  )
  if (!isMissing || configuration.serverMetadata().userinfo_endpoint === undefined) return {}
  return openid.fetchUserInfo(configuration, tokens.access_token, String(claims['sub']))
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

const MAX_TEXT = 255
const MAX_METHODS = 10
/** Methods in the registry of RFC 8176 have up to 6 characters. */
const MAX_METHOD = 64

function shortText(value: unknown, maxLength = MAX_TEXT): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= maxLength ? value : undefined
}

function methodsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.slice(0, MAX_METHODS).flatMap((method) => shortText(method, MAX_METHOD) ?? [])
}

/** Imports `openid-client` only in a process that uses a provider, and converts its errors. */
async function asProviderError<T>(work: (openid: OpenidClient) => Promise<T>): Promise<T> {
  const openid = await import('openid-client')
  try {
    return await work(openid)
  } catch (error) {
    throw toProviderError(error, openid)
  }
}

/** Errors with which a provider reports a failure of its own. OpenID Connect Core 1.0 section 3.1.2.6, RFC 6749. */
const OWN_FAILURES: readonly string[] = ['server_error', 'temporarily_unavailable']

function toProviderError(error: unknown, openid: OpenidClient): ProviderError {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProviderError) return cause
  if (error instanceof openid.AuthorizationResponseError)
    return OWN_FAILURES.includes(error.error)
      ? new ProviderError('unavailable', 'authorization response', { cause: error })
      : new ProviderError('denied', knownError(error.error), { cause: error })
  if (error instanceof openid.ResponseBodyError)
    return new ProviderError('invalid', `token endpoint: ${knownError(error.error)}`, {
      cause: error,
    })
  if ((error as { readonly code?: unknown }).code === 'OAUTH_TIMEOUT')
    return new ProviderError('unavailable', 'timeout', { cause: error })
  return new ProviderError('invalid', describeCheck(error), { cause: error })
}

/** Returns the code of the failed check and the name of the claim, without the value. */
function describeCheck(error: unknown): string {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown }
  const details = (cause as { readonly cause?: unknown } | undefined)?.cause ?? cause
  const claim = (details as { readonly claim?: unknown } | undefined)?.claim
  return [code, claim].filter((part) => typeof part === 'string').join(' ') || 'response'
}

/**
 * Returns the error code of the provider if the code has 1 to 40 lower-case letters and underscores. Otherwise returns
 * `unknown error`.
 */
function knownError(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : 'unknown error'
}
