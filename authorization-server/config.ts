import { join } from 'node:path'
import type { Static } from 'typebox'
import { impliedBy, parseScope, type ScopeCatalogue } from '../oauth/scope.ts'
import { DRAIN_DEFAULTS, type DrainConfig } from '../platform/config/drain-schema.ts'
import type { PrivateConsoleAddress } from '../platform/config/listen-address.ts'
import { readConfig } from '../platform/config/read-config.ts'
import { readScopeCatalogue } from '../platform/config/read-scope-catalogue.ts'
import { ConfigError } from '../platform/diagnostics/boot-error.ts'
import {
  type Diagnostic,
  diagnostic,
  hasErrors,
  type Severity,
  wholeFile,
} from '../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../platform/diagnostics/display-path.ts'
import { parseByteSize, parseDurationMs } from '../platform/diagnostics/schema/value-formats.ts'
import { type LogConfig, toLogConfig } from '../platform/logging/log-schema.ts'
import { findConnectionFaults } from '../platform/redis/check-connection.ts'
import type { RedisConnection } from '../platform/redis/redis-connection.ts'
import type { TracingConfig } from '../platform/tracing/tracing-schema.ts'
import { AuthorizationServerFile } from './authorization-server-file.ts'
import type { LookConfig } from './pages/load-look.ts'
import { findLowContrast } from './pages/look.ts'
import type { PostgresConnection } from './store/postgres-connection.ts'

/** A client that the operator configured, with fixed callbacks. Source: docs/interface.md section 5.4. */
export type Integration = {
  readonly clientId: string
  readonly clientName: string
  readonly redirectUris: readonly string[]
  /** Addresses for the redirect after sign-out. OpenID Connect RP-Initiated Logout 1.0 section 3. */
  readonly postLogoutRedirectUris?: readonly string[] | undefined
  /**
   * File with the client secret. With a file, the client uses `client_secret_post`. Undefined: a public client
   * (`none`).
   */
  readonly clientSecretFile: string | undefined
  /** True: a client of the operator, whose authorizations need no consent. Default: false. */
  readonly trusted?: boolean
}

/** The client of `scopegate canary`, which gets tokens with client credentials. */
export type CanaryConfig = {
  readonly clientId: string
  readonly clientSecretFile: string
  /** Scopes of each token. */
  readonly scopes: readonly string[]
  /** URL of the resource of each token. */
  readonly resource: string
}

/** An OpenID provider through which people sign in. */
export type SignInProvider = {
  /** Part of the redirect URI. */
  readonly name: string
  /** Name of the provider on the sign-in page. */
  readonly title: string
  /** The issuer, compared character by character. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecretFile: string
  readonly scopes: readonly string[]
  /** Claims of the person, by name or path. Undefined: the server does not read the claim. */
  readonly claims: {
    readonly name: string
    readonly email: string
    readonly groups: string | undefined
    readonly roles: string | undefined
  }
  /** Rules of admission. An empty list allows everyone. A person must satisfy every rule. */
  readonly admit: {
    readonly emailDomains: readonly string[]
    readonly groups: readonly string[]
    readonly claims: ReadonlyMap<string, readonly string[]>
  }
}

/** Reserved `client_id` of the account page. */
export const ACCOUNT_CLIENT_ID = 'scopegate-account'

/** `jwt`: RFC 9068. Gateways verify these tokens without a request to this server. */
export type AccessTokenFormat = 'opaque' | 'jwt'

/** Relaxations for clients that do not follow docs/interface.md (section 9.2). All are off by default. */
export type Compat = {
  /** Default of `scope` in authorization requests. Scopes are separated by spaces. RFC 6749 section 3.3. */
  readonly defaultScope: string | undefined
  /** True: an authorization request may omit `state`, because PKCE protects the flow. RFC 9700 section 4.7.1. */
  readonly optionalState: boolean
  /** True: redirect URIs may name `localhost`, and may omit the port. RFC 8252 section 7.3. */
  readonly loopbackRedirects: boolean
}

/** Configuration of the authorization server. Durations and sizes are numbers, paths are absolute. */
export type AuthorizationServerConfig = {
  /** The public URL, without a trailing slash. The server never takes this URL from a request. */
  readonly issuer: string
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly management: PrivateConsoleAddress
  readonly drain: DrainConfig
  readonly catalogue: ScopeCatalogue
  /** Resources for which the server issues tokens (RFC 8707), without a trailing slash. The first is the issuer. */
  readonly resources: readonly string[]
  /** Folder of the SQLite file and of the generated keys. */
  readonly dataDir: string
  readonly store: { readonly type: 'sqlite' | 'redis' | 'postgres' }
  readonly redis: RedisConnection | undefined
  readonly postgres?: PostgresConnection | undefined
  /** JWK Set with private keys. Undefined: the server generates a JWK Set in `dataDir` on the first start. */
  readonly signingKeysFile: string | undefined
  /** One cookie key per line, newest first. Undefined: the server generates a key in `dataDir` on the first start. */
  readonly cookieKeysFile: string | undefined
  /** The client that the gateway uses for introspection and for the revocation stream. */
  readonly gatewayClient: { readonly id: string; readonly secretFile: string }
  /** True: the accounts alice/alice and bob/bob exist, and the server generates a missing gateway secret. */
  readonly development: boolean
  readonly lifetimes: {
    readonly codeSeconds: number
    readonly accessTokenSeconds: number
    /** Idle lifetime. Every refresh starts this time again. */
    readonly refreshTokenSeconds: number
    /** Absolute lifetime. This time starts at the consent. */
    readonly refreshTokenMaxSeconds: number
    readonly sessionSeconds: number
  }
  readonly accessTokens: {
    readonly format: AccessTokenFormat
    /** Signature algorithm of JWTs. */
    readonly algorithm: 'ES256' | 'EdDSA'
    /** Token formats of single resources, by URL. All other resources use `format`. */
    readonly resources: ReadonlyMap<string, AccessTokenFormat>
  }
  readonly refreshTokens: {
    /**
     * Time in which a repeated refresh request gets the response of the first request. 0: a repeated request ends the
     * grant.
     */
    readonly repeatWindowSeconds: number
  }
  readonly registration: {
    /** Loopback hosts accepted in redirect URIs. Default: `127.0.0.1`. */
    readonly loopbackHosts: readonly string[]
    readonly bodyLimitBytes: number
    /** Hosts of client documents, with a port if the port is not 443. Empty: the server accepts no client documents. */
    readonly documentHosts: readonly string[]
    /** Age at which a registered client without a grant expires. */
    readonly unusedClientSeconds: number
    /** Maximum number of registrations per address and window. Each process counts separately. */
    readonly rateLimit: { readonly perAddress: number; readonly windowMs: number }
  }
  readonly authorization: {
    /**
     * Maximum number of authorization requests per address and window, pushed requests included. Each process counts
     * separately.
     */
    readonly rateLimit: { readonly perAddress: number; readonly windowMs: number }
    /** Maximum number of stored authorization requests that are not finished, over all processes. */
    readonly pending: { readonly perAddress: number; readonly total: number }
  }
  readonly consent: {
    /** Validity of a consent for the same access. 0: the server asks at each authorization. */
    readonly rememberSeconds: number
    /** True: the server also remembers consents for apps with a loopback or private-use redirect URI. */
    readonly includesLocalApps: boolean
  }
  readonly look: LookConfig
  readonly compat: Compat
  readonly signIn: {
    /** True: people can sign in with a user name and a password. */
    readonly local: boolean
    readonly providers: readonly SignInProvider[]
    /** The second factor of local accounts. `acr`: class of a sign-in with two factors. Undefined: off. */
    readonly secondFactor?: { readonly acr: string; readonly required: boolean }
  }
  readonly integrations: readonly Integration[]
  /** Undefined: no client can use client credentials. */
  readonly canary?: CanaryConfig | undefined
  readonly log: LogConfig
  /** Undefined: only the environment configures tracing. */
  readonly tracing?: TracingConfig | undefined
}

/** Default values, as text in the notation of the file. */
export const DEFAULTS = {
  lifetimes: { code: '60s', accessToken: '15m', refreshToken: '30d', refreshTokenMax: '90d', session: '14d' },
  accessTokens: { format: 'opaque', algorithm: 'ES256' },
  repeatWindow: '30s',
  loopbackHosts: ['127.0.0.1'],
  bodyLimit: '16KiB',
  unusedClients: '7d',
  rateLimit: { perAddress: 300, window: '10m' },
  authorization: {
    rateLimit: { perAddress: 600, window: '10m' },
    pending: { perAddress: 200, total: 10_000 },
  },
  rememberConsent: '0s',
  canaryClientId: 'canary',
  secondFactorAcr: 'https://refeds.org/profile/mfa',
  providerScopes: ['openid', 'profile', 'email'],
  postgresPool: { max: 10, connectTimeout: '2s', statementTimeout: '2s' },
} as const

type File = Static<typeof AuthorizationServerFile>

/**
 * Reads the configuration and its scope catalogue.
 * @returns the configuration, and warnings that do not prevent the start.
 * @throws {ConfigError} with every error. Code C301: two settings contradict each other.
 */
export function readAuthorizationServerConfig(options: {
  readonly configDir: string
  readonly env: Readonly<Record<string, string | undefined>>
}): { readonly config: AuthorizationServerConfig; readonly warnings: readonly Diagnostic[] } {
  const file = join(options.configDir, 'authorization-server.yaml')
  const { value, warnings } = readConfig({ file, schema: AuthorizationServerFile, env: options.env })
  const config = toConfig(value, readScopeCatalogue({ file: value.scopes }))
  const contradictions = findContradictions(config, displayPath(file))
  if (hasErrors(contradictions)) throw new ConfigError(contradictions)
  return { config, warnings: [...warnings, ...contradictions] }
}

function toConfig(file: File, catalogue: ScopeCatalogue): AuthorizationServerConfig {
  const lifetimes = { ...DEFAULTS.lifetimes, ...file.lifetimes }
  const { registration } = file
  const rateLimit = registration?.rateLimit ?? DEFAULTS.rateLimit
  const authorizationRate = file.authorization?.rateLimit ?? DEFAULTS.authorization.rateLimit
  return Object.freeze({
    issuer: file.issuer,
    name: file.name,
    listen: file.listen,
    management: file.management,
    drain: {
      delayMs: parseDurationMs(file.drain?.delay ?? DRAIN_DEFAULTS.delay) ?? 0,
      graceMs: parseDurationMs(file.drain?.grace ?? DRAIN_DEFAULTS.grace) ?? 0,
    },
    catalogue,
    resources: resourcesOf(file),
    dataDir: file.dataDir,
    store: file.store,
    redis: file.redis,
    postgres: file.postgres === undefined ? undefined : toPostgresConnection(file.postgres),
    signingKeysFile: file.signingKeysFile,
    cookieKeysFile: file.cookieKeysFile,
    gatewayClient: file.gatewayClient,
    development: file.development ?? false,
    lifetimes: {
      codeSeconds: seconds(lifetimes.code),
      accessTokenSeconds: seconds(lifetimes.accessToken),
      refreshTokenSeconds: seconds(lifetimes.refreshToken),
      refreshTokenMaxSeconds: seconds(lifetimes.refreshTokenMax),
      sessionSeconds: seconds(lifetimes.session),
    },
    accessTokens: {
      format: file.accessTokens?.format ?? DEFAULTS.accessTokens.format,
      algorithm: file.accessTokens?.algorithm ?? DEFAULTS.accessTokens.algorithm,
      resources: new Map(
        (file.accessTokens?.resources ?? []).map(({ path, format }) => [
          resourceAt(path, file.issuer),
          format,
        ]),
      ),
    },
    refreshTokens: {
      repeatWindowSeconds: seconds(file.refreshTokens?.repeatWindow ?? DEFAULTS.repeatWindow),
    },
    registration: {
      loopbackHosts: registration?.redirectUris?.loopback ?? DEFAULTS.loopbackHosts,
      bodyLimitBytes: parseByteSize(registration?.bodyLimit ?? DEFAULTS.bodyLimit) ?? 0,
      documentHosts: registration?.clientDocuments?.domains ?? [],
      unusedClientSeconds: seconds(registration?.unusedClients ?? DEFAULTS.unusedClients),
      rateLimit: { perAddress: rateLimit.perAddress, windowMs: parseDurationMs(rateLimit.window) ?? 0 },
    },
    authorization: {
      rateLimit: {
        perAddress: authorizationRate.perAddress,
        windowMs: parseDurationMs(authorizationRate.window) ?? 0,
      },
      pending: file.authorization?.pending ?? DEFAULTS.authorization.pending,
    },
    consent: {
      rememberSeconds: seconds(file.consent?.remember ?? DEFAULTS.rememberConsent),
      includesLocalApps: file.consent?.rememberLocalApps ?? false,
    },
    look: {
      logo: file.look?.logo,
      css: file.look?.css,
      colors: { light: file.look?.colors?.light ?? {}, dark: file.look?.colors?.dark ?? {} },
      links: file.look?.links ?? {},
    },
    compat: {
      defaultScope: file.compat?.defaultScope,
      optionalState: file.compat?.optionalState ?? false,
      loopbackRedirects: file.compat?.loopbackRedirects ?? false,
    },
    signIn: {
      local: file.signIn?.local ?? true,
      providers: (file.signIn?.providers ?? []).map(toSignInProvider),
      ...toSecondFactor(file.signIn?.secondFactor),
    },
    integrations: (file.integrations ?? []).map((integration) => ({
      clientId: integration.clientId,
      clientName: integration.clientName,
      redirectUris: integration.redirectUris,
      postLogoutRedirectUris: integration.postLogoutRedirectUris ?? [],
      clientSecretFile: integration.clientSecretFile,
      trusted: integration.trusted ?? false,
    })),
    canary: file.canary === undefined ? undefined : toCanary(file.canary, file.issuer),
    log: toLogConfig(file.log),
    tracing: file.tracing,
  })
}

function toCanary(section: NonNullable<File['canary']>, issuer: string): CanaryConfig {
  return {
    clientId: section.clientId ?? DEFAULTS.canaryClientId,
    clientSecretFile: section.clientSecretFile,
    scopes: section.scopes,
    resource: resourceAt(section.resource ?? '/', issuer),
  }
}

function resourceAt(path: string, issuer: string): string {
  return path === '/' ? issuer : issuer + path
}

function toSecondFactor(
  section: NonNullable<File['signIn']>['secondFactor'],
): Pick<AuthorizationServerConfig['signIn'], 'secondFactor'> {
  if (section === undefined || section.mode === 'off') return {}
  const { acr = DEFAULTS.secondFactorAcr, mode } = section
  return { secondFactor: { acr, required: mode === 'required' } }
}

type ProviderSection = NonNullable<NonNullable<File['signIn']>['providers']>[number]

function toSignInProvider(section: ProviderSection): SignInProvider {
  const { name, title, issuer, clientId, clientSecretFile, scopes, claims, admit } = section
  return {
    name,
    title,
    issuer,
    clientId,
    clientSecretFile,
    scopes: scopes ?? DEFAULTS.providerScopes,
    claims: {
      name: claims?.name ?? 'name',
      email: claims?.email ?? 'email',
      groups: claims?.groups,
      roles: claims?.roles,
    },
    admit: {
      emailDomains: admit?.emailDomains ?? [],
      groups: admit?.groups ?? [],
      claims: new Map(Object.entries(admit?.claims ?? {})),
    },
  }
}

function toPostgresConnection(section: NonNullable<File['postgres']>): PostgresConnection {
  const pool = { ...DEFAULTS.postgresPool, ...section.pool }
  return {
    url: section.url,
    passwordFile: section.passwordFile,
    caFile: section.caFile,
    certFile: section.certFile,
    keyFile: section.keyFile,
    pool: {
      max: pool.max,
      connectTimeoutMs: parseDurationMs(pool.connectTimeout) ?? 0,
      statementTimeoutMs: parseDurationMs(pool.statementTimeout) ?? 0,
    },
  }
}

/** Returns the resources for which the server issues tokens: the issuer URL, and paths below the issuer URL. */
function resourcesOf({ issuer, protectedResources = [] }: File): readonly string[] {
  return [issuer, ...protectedResources.filter((path) => path !== '/').map((path) => issuer + path)]
}

function seconds(text: string): number {
  return Math.floor((parseDurationMs(text) ?? 0) / 1000)
}

/**
 * Finds errors that the schema of a single key cannot find.
 * C301: two settings contradict each other, or a number is out of range.
 */
export function findContradictions(config: AuthorizationServerConfig, file: string): readonly Diagnostic[] {
  const found: Diagnostic[] = []
  const report = (message: string, hint: string, severity: Severity = 'error') =>
    found.push(diagnostic('C301', message, wholeFile(file), { hint, severity }))
  const { lifetimes, store, redis, postgres } = config
  for (const [name, value] of Object.entries(lifetimes))
    if (value < 1)
      report(`lifetimes.${name.replace(/Seconds$/, '')} is shorter than a second`, 'use 1s or more')
  if (lifetimes.refreshTokenMaxSeconds < lifetimes.refreshTokenSeconds)
    report(
      'lifetimes.refreshTokenMax is shorter than lifetimes.refreshToken',
      'set lifetimes.refreshTokenMax to at least lifetimes.refreshToken',
    )
  if (config.refreshTokens.repeatWindowSeconds >= lifetimes.accessTokenSeconds)
    report(
      'refreshTokens.repeatWindow must be shorter than lifetimes.accessToken: a repeated response could contain an expired access token',
      'make the window shorter, or use 0s',
    )
  for (const resource of config.accessTokens.resources.keys())
    if (!config.resources.includes(resource))
      report(
        `accessTokens.resources: ${resource.slice(config.issuer.length)} is not a resource of this server`,
        'add the path to protectedResources, or remove the entry',
      )
  if (config.registration.unusedClientSeconds < 1)
    report('registration.unusedClients is shorter than a second', 'use 7d')
  if (config.registration.rateLimit.windowMs < 1_000)
    report('registration.rateLimit.window is shorter than a second', 'use 10m')
  if (config.authorization.rateLimit.windowMs < 1_000)
    report('authorization.rateLimit.window is shorter than a second', 'use 10m')
  if (config.authorization.pending.total < config.authorization.pending.perAddress)
    report(
      'authorization.pending.total is less than authorization.pending.perAddress',
      'set authorization.pending.total to at least authorization.pending.perAddress',
    )
  if (config.drain.delayMs >= config.drain.graceMs)
    report(
      'drain.delay must be shorter than drain.grace',
      'drain.grace includes drain.delay: set a longer drain.grace',
    )
  const { defaultScope } = config.compat
  const defaults = defaultScope === undefined ? [] : (parseScope(defaultScope) ?? [defaultScope])
  for (const scope of defaults.filter((name) => !config.catalogue.has(name)))
    report(
      `compat.defaultScope: scope "${scope}" is not in the catalogue`,
      'name scopes of the scope catalogue',
    )
  if (config.consent.includesLocalApps && config.consent.rememberSeconds === 0)
    report(
      'consent.rememberLocalApps is true, but consent.remember is 0s: the server remembers no consent',
      'set consent.remember, for example 30d, or remove consent.rememberLocalApps',
    )
  for (const message of findLowContrast(config.look.colors))
    report(message, 'use colors with a contrast of at least 4.5:1 (WCAG 2.2 section 1.4.3)')
  if (config.registration.bodyLimitBytes < 1) report('registration.bodyLimit is 0', 'use 16KiB')
  if (store.type === 'redis' && redis === undefined)
    report(
      'store.type is redis, but redis is not set',
      'set redis.url (REDIS_URL), redis.sentinel or redis.cluster',
    )
  if (store.type === 'postgres' && postgres === undefined)
    report(
      'store.type is postgres, but postgres.url is not set',
      'set postgres.url (SCOPEGATE_POSTGRES__URL)',
    )
  if (store.type !== 'postgres' && postgres !== undefined)
    report(
      `postgres.url is set, but store.type is ${store.type}: the server would write nothing to PostgreSQL`,
      'use store.type: postgres, or remove postgres',
    )
  if ((postgres?.certFile === undefined) !== (postgres?.keyFile === undefined))
    report('postgres: set both certFile and keyFile, or neither', 'a client certificate needs its key')
  // With Redis settings, the operator expects that Redis receives the revocations. In development mode, this is only a
  // warning, because the gateway and this server share one environment.
  if (store.type !== 'redis' && redis !== undefined)
    report(
      `redis is set (for example by REDIS_URL), but store.type is ${store.type}: the server would write no tokens or revocations to Redis`,
      'use store.type: redis, or remove redis and set issuers[].revocations at the gateways',
      config.development ? 'warning' : 'error',
    )
  if (redis !== undefined)
    for (const { message, hint } of findConnectionFaults(redis, 'redis')) report(message, hint)
  for (const { message, hint } of findSignInFaults(config.signIn)) report(message, hint)
  for (const { message, hint } of findCanaryFaults(config)) report(message, hint)
  const ids = [
    ACCOUNT_CLIENT_ID,
    config.gatewayClient.id,
    ...(config.canary === undefined ? [] : [config.canary.clientId]),
    ...config.integrations.map((integration) => integration.clientId),
  ]
  for (const id of repeated(ids)) report(`two clients have the id ${id}`, 'give each client its own id')
  return found
}

/** Finds a resource that does not exist, and scopes that give more access than a read. */
function findCanaryFaults({
  canary,
  catalogue,
  issuer,
  resources,
}: AuthorizationServerConfig): readonly { readonly message: string; readonly hint: string }[] {
  if (canary === undefined) return []
  const onlyReads = (scope: string): boolean =>
    [scope, ...impliedBy(scope, catalogue)].every((name) => catalogue.get(name)?.sensitivity === 'read')
  return [
    ...(resources.includes(canary.resource)
      ? []
      : [
          {
            message: `canary.resource: ${canary.resource.slice(issuer.length)} is not a resource of this server`,
            hint: 'add the path to protectedResources, or remove canary.resource',
          },
        ]),
    ...canary.scopes
      .filter((scope) => !onlyReads(scope))
      .map((scope) => ({
        message: catalogue.has(scope)
          ? `canary.scopes: scope "${scope}" gives more access than a read`
          : `canary.scopes: scope "${scope}" is not in the catalogue`,
        hint: 'name scopes of the scope catalogue with sensitivity read, which imply only such scopes',
      })),
  ]
}

/** Finds settings of `signIn` that cannot work, or that would let any account of a public provider sign in. */
function findSignInFaults({
  local,
  providers,
  secondFactor,
}: AuthorizationServerConfig['signIn']): readonly { readonly message: string; readonly hint: string }[] {
  const names = providers.map(({ name }) => name)
  const issuers = providers.map(({ issuer }) => issuer)
  return [
    ...(local || providers.length > 0
      ? []
      : [
          {
            message: 'signIn.local is false, but signIn.providers is empty: no person could sign in',
            hint: 'add a provider to signIn.providers, or remove signIn.local',
          },
        ]),
    ...(local || secondFactor === undefined
      ? []
      : [
          {
            message:
              'signIn.secondFactor is set, but signIn.local is false: only local accounts have a second factor',
            hint: 'remove signIn.secondFactor, and require a second factor at the provider',
          },
        ]),
    ...repeated(names).map((name) => ({
      message: `signIn.providers: two providers have the name ${name}`,
      hint: 'give each provider its own name',
    })),
    ...repeated(issuers).map((issuer) => ({
      message: `signIn.providers: two providers have the issuer ${issuer}`,
      hint: 'remove one of the two providers: an account belongs to an issuer and a subject',
    })),
    ...providers.flatMap(findProviderFaults),
  ]
}

/** Issuers at which anybody can create an account. */
const PUBLIC_ISSUERS: readonly string[] = ['https://accounts.google.com']
const ANY_TENANT = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)(\/|$)/
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/|$)/

function findProviderFaults(
  provider: SignInProvider,
): readonly { readonly message: string; readonly hint: string }[] {
  const { name, issuer, scopes, claims, admit } = provider
  const at = `signIn.providers (${name})`
  const found: { readonly message: string; readonly hint: string }[] = []
  const report = (message: string, hint: string) => found.push({ message: `${at}: ${message}`, hint })
  if (name === 'local') report('the name local stands for local accounts', 'give the provider another name')
  if (!issuer.startsWith('https:') && !LOOPBACK.test(issuer))
    report('issuer does not begin with https', 'use https: plain http is for 127.0.0.1 and localhost only')
  if (ANY_TENANT.test(issuer))
    report(
      'issuer accepts accounts of every tenant',
      'use https://login.microsoftonline.com/TENANT-ID/v2.0 with the ID of your tenant',
    )
  if (!scopes.includes('openid')) report('scopes does not contain openid', 'add openid to scopes')
  if (admit.groups.length > 0 && claims.groups === undefined)
    report('admit.groups is set, but claims.groups is not', 'set claims.groups to the claim with the groups')
  const rules = admit.emailDomains.length + admit.groups.length + admit.claims.size
  if (PUBLIC_ISSUERS.includes(issuer) && rules === 0)
    report(
      'anybody can create an account at this issuer, and admit has no rule',
      'set admit, for example admit: { claims: { hd: [example.com] } }',
    )
  return found
}

function repeated(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
