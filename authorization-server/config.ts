import { join } from 'node:path'
import Type from 'typebox'
import type { ScopeCatalogue } from '../oauth/scope-catalogue.ts'
import { DRAIN_DEFAULTS, type DrainConfig, DrainSchema } from '../platform/config/drain-schema.ts'
import { ListenAddress } from '../platform/config/listen-address.ts'
import { ManagementAddress } from '../platform/config/management-address.ts'
import { readConfig } from '../platform/config/read-config.ts'
import { readScopeCatalogue } from '../platform/config/read-scope-catalogue.ts'
import { ConfigError } from '../platform/diagnostics/config-error.ts'
import { type Diagnostic, hasErrors } from '../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../platform/diagnostics/display-path.ts'
import { parseByteSize } from '../platform/diagnostics/schema/byte-size.ts'
import { parseDurationMs } from '../platform/diagnostics/schema/duration.ts'
import {
  ByteSizeText,
  DurationText,
  FilePath,
  HttpOrigin,
  ResourcePath,
  SecretText,
} from '../platform/diagnostics/schema/value-schemas.ts'
import { findContradictions } from './find-contradictions.ts'

/** A client that the operator configured, with fixed callbacks. Source: docs/interface.md section 5.4. */
export type Integration = {
  readonly clientId: string
  readonly clientName: string
  readonly redirectUris: readonly string[]
  /** Absent: a public client (`none`); present: `client_secret_post`. */
  readonly clientSecretFile: string | undefined
}

/** Relaxations for clients that do not follow docs/interface.md (section 9.2). All are off by default. */
export type Compat = {
  /** Space-separated scopes of an authorization request without `scope`. RFC 6749 section 3.3. */
  readonly defaultScope: string | undefined
  /** True: `state` may be absent. PKCE protects the flow. RFC 9700 section 4.7.1. */
  readonly optionalState: boolean
  /** True: redirect URIs may name `localhost`, and may omit the port. RFC 8252 section 7.3. */
  readonly loopbackRedirects: boolean
}

/** Configuration of the authorization server. Durations and sizes are numbers, paths are absolute. */
export type AuthorizationServerConfig = {
  /** The public URL, without a trailing slash. Never taken from a request. */
  readonly issuer: string
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly management: ManagementAddress
  readonly drain: DrainConfig
  readonly catalogue: ScopeCatalogue
  /** Resources of tokens (RFC 8707), without a trailing slash. The issuer is the first. */
  readonly resources: readonly string[]
  /** Folder of the SQLite file and of the generated keys. */
  readonly dataDir: string
  readonly store: { readonly type: 'sqlite' | 'redis' }
  readonly redis: { readonly url: string } | undefined
  /** JWK Set with private keys. Undefined: the server generates one in `dataDir` on the first start. */
  readonly signingKeysFile: string | undefined
  /** One cookie key per line, newest first. Undefined: the server generates one in `dataDir` on the first start. */
  readonly cookieKeysFile: string | undefined
  /** The client that the gateway uses for introspection and for the revocation stream. */
  readonly gatewayClient: { readonly id: string; readonly secretFile: string }
  /** True: the accounts alice/alice and bob/bob exist, and the server generates a missing gateway secret. */
  readonly development: boolean
  readonly lifetimes: {
    readonly codeSeconds: number
    readonly accessTokenSeconds: number
    /** Idle lifetime: starts again with every refresh. */
    readonly refreshTokenSeconds: number
    /** Absolute lifetime, from the consent. */
    readonly refreshTokenMaxSeconds: number
    readonly sessionSeconds: number
  }
  readonly refreshTokens: {
    /** Time in which a repeated refresh gets the same response. 0: a repeat ends the grant. */
    readonly repeatWindowSeconds: number
  }
  readonly registration: {
    /** Loopback hosts accepted in redirect URIs. Default: `127.0.0.1`. */
    readonly loopbackHosts: readonly string[]
    readonly bodyLimitBytes: number
    /** Age at which a registered client without a grant expires. */
    readonly unusedClientSeconds: number
    /** Registrations per address and window, in each process. */
    readonly rateLimit: { readonly perAddress: number; readonly windowMs: number }
  }
  readonly authorization: {
    /** Authorization requests per address and window, in each process. Includes pushed requests. */
    readonly rateLimit: { readonly perAddress: number; readonly windowMs: number }
    /** Stored authorization requests that are not finished, over all processes. */
    readonly pending: { readonly perAddress: number; readonly total: number }
  }
  readonly compat: Compat
  readonly integrations: readonly Integration[]
  readonly log: { readonly level: string }
}

const DEFAULTS = {
  lifetimes: { code: '60s', accessToken: '15m', refreshToken: '30d', refreshTokenMax: '90d', session: '14d' },
  repeatWindow: '30s',
  loopbackHosts: ['127.0.0.1'],
  bodyLimit: '16KiB',
  unusedClients: '7d',
  rateLimit: { perAddress: 300, window: '10m' },
  authorization: {
    rateLimit: { perAddress: 600, window: '10m' },
    pending: { perAddress: 200, total: 10_000 },
  },
  logLevel: 'info',
} as const

const RegisteredIntegration = Type.Object(
  {
    clientId: Type.String({ description: 'client_id', minLength: 1, maxLength: 100 }),
    clientName: Type.String({
      description: 'shown on the consent page, as verified',
      minLength: 1,
      maxLength: 100,
    }),
    redirectUris: Type.Array(
      Type.String({
        description: 'a fixed callback',
        pattern: '^https://[^\\s#]+$',
        'x-is': 'an https address without fragment',
      }),
      { description: 'its fixed callbacks', minItems: 1 },
    ),
    clientSecretFile: Type.Optional(FilePath('file with its client_secret; without it, a public client')),
  },
  { description: 'a registered integration' },
)

const Lifetimes = Type.Object(
  {
    code: Type.Optional(DurationText('authorization codes')),
    accessToken: Type.Optional(DurationText('access tokens')),
    refreshToken: Type.Optional(DurationText('refresh tokens, from their last use')),
    refreshTokenMax: Type.Optional(DurationText('refresh tokens, from the consent')),
    session: Type.Optional(DurationText('sign-in sessions')),
  },
  { description: 'how long things live' },
)

const RefreshTokens = Type.Object(
  {
    repeatWindow: Type.Optional(
      Type.String({
        description: 'a repeated refresh gets the same response for this long; 0s: it ends the grant',
        pattern: '^((\\d|[1-9]\\d|[12]\\d\\d|300)s|[1-5]m)$',
        'x-is': 'a duration of whole seconds such as 30s or 2m, at most 5m',
      }),
    ),
  },
  { description: 'use of refresh tokens' },
)

const Registration = Type.Object(
  {
    redirectUris: Type.Optional(
      Type.Object(
        {
          loopback: Type.Array(
            Type.Enum(['127.0.0.1', 'localhost', '[::1]'], {
              description: '127.0.0.1, localhost or [::1]',
            }),
            { description: 'hosts of http redirect URIs that anybody may register', minItems: 1 },
          ),
        },
        { description: 'which redirect URIs may be registered' },
      ),
    ),
    bodyLimit: Type.Optional(ByteSizeText('largest registration request')),
    unusedClients: Type.Optional(
      DurationText('registered clients that nobody used are forgotten after this long'),
    ),
    rateLimit: Type.Optional(
      Type.Object(
        {
          perAddress: Type.Integer({ description: 'registrations of one address in a window', minimum: 1 }),
          window: DurationText('how long they are counted together'),
        },
        { description: 'how many clients one address may register' },
      ),
    ),
  },
  { description: 'dynamic client registration' },
)

const Authorization = Type.Object(
  {
    rateLimit: Type.Optional(
      Type.Object(
        {
          perAddress: Type.Integer({
            description: 'authorization requests of one address in a window',
            minimum: 1,
          }),
          window: DurationText('length of the window'),
        },
        { description: 'rate limit of authorization requests' },
      ),
    ),
    pending: Type.Optional(
      Type.Object(
        {
          perAddress: Type.Integer({
            description: 'unfinished authorization requests of one address',
            minimum: 1,
          }),
          total: Type.Integer({
            description: 'unfinished authorization requests of all addresses',
            minimum: 1,
          }),
        },
        { description: 'bound of stored authorization requests; the server evicts the oldest' },
      ),
    ),
  },
  { description: 'authorization requests and pushed authorization requests' },
)

const CompatShape = Type.Object(
  {
    defaultScope: Type.Optional(
      Type.String({ description: 'scopes of an authorization request without scope', minLength: 1 }),
    ),
    optionalState: Type.Optional(
      Type.Boolean({ description: 'true: authorization requests may omit state' }),
    ),
    loopbackRedirects: Type.Optional(
      Type.Boolean({ description: 'true: redirect URIs may name localhost and may omit the port' }),
    ),
  },
  { description: 'relaxations for clients that do not follow the service interface' },
)

export const AuthorizationServerFile = Type.Object(
  {
    issuer: HttpOrigin('the public address of the whole service; it stands in every token and document'),
    name: Type.String({ description: "the service's name on the pages", minLength: 1, maxLength: 100 }),
    listen: ListenAddress('where the service listens'),
    management: ManagementAddress,
    scopes: FilePath('the scope catalogue'),
    protectedResources: Type.Optional(
      Type.Array(ResourcePath('a path below the public address'), {
        description: 'parts of the API that tokens may be for, besides the API itself',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    dataDir: FilePath('folder of the SQLite file and the generated keys'),
    store: Type.Object(
      { type: Type.Enum(['sqlite', 'redis'], { description: 'sqlite or redis' }) },
      { description: 'what remembers clients, grants and tokens' },
    ),
    redis: Type.Optional(
      Type.Object(
        { url: SecretText('redis://… or rediss://…') },
        { description: 'for store.type: redis, and no other' },
      ),
    ),
    signingKeysFile: Type.Optional(
      FilePath('JSON Web Key Set with private keys; without it, keys are made once in dataDir'),
    ),
    cookieKeysFile: Type.Optional(
      FilePath('cookie keys, one per line, newest first; without it, a key is made once in dataDir'),
    ),
    gatewayClient: Type.Object(
      {
        id: Type.String({ description: "the gateway's client_id", minLength: 1, maxLength: 100 }),
        secretFile: FilePath("file with the gateway's client_secret"),
      },
      { description: 'the client that introspects tokens and listens for revocations' },
    ),
    development: Type.Optional(
      Type.Boolean({ description: 'true: alice/alice and bob/bob can sign in. Never in production' }),
    ),
    drain: Type.Optional(DrainSchema),
    lifetimes: Type.Optional(Lifetimes),
    refreshTokens: Type.Optional(RefreshTokens),
    registration: Type.Optional(Registration),
    authorization: Type.Optional(Authorization),
    compat: Type.Optional(CompatShape),
    integrations: Type.Optional(
      Type.Array(RegisteredIntegration, { description: 'clients that the operator vouches for' }),
    ),
    log: Type.Optional(
      Type.Object(
        {
          level: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
            description: 'trace, debug, info, warn, error, fatal or silent',
          }),
        },
        { description: 'the log on standard output' },
      ),
    ),
  },
  { description: 'config/authorization-server.yaml' },
)

type File = Type.Static<typeof AuthorizationServerFile>

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
    refreshTokens: {
      repeatWindowSeconds: seconds(file.refreshTokens?.repeatWindow ?? DEFAULTS.repeatWindow),
    },
    registration: {
      loopbackHosts: registration?.redirectUris?.loopback ?? DEFAULTS.loopbackHosts,
      bodyLimitBytes: parseByteSize(registration?.bodyLimit ?? DEFAULTS.bodyLimit) ?? 0,
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
    compat: {
      defaultScope: file.compat?.defaultScope,
      optionalState: file.compat?.optionalState ?? false,
      loopbackRedirects: file.compat?.loopbackRedirects ?? false,
    },
    integrations: (file.integrations ?? []).map((integration) => ({
      clientId: integration.clientId,
      clientName: integration.clientName,
      redirectUris: integration.redirectUris,
      clientSecretFile: integration.clientSecretFile,
    })),
    log: { level: file.log?.level ?? DEFAULTS.logLevel },
  })
}

/** Returns the resources of tokens: the issuer URL, and paths below it. */
function resourcesOf({ issuer, protectedResources = [] }: File): readonly string[] {
  return [issuer, ...protectedResources.filter((path) => path !== '/').map((path) => issuer + path)]
}

function seconds(text: string): number {
  return Math.floor((parseDurationMs(text) ?? 0) / 1000)
}
