import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import Type from 'typebox'
import type { ScopeCatalogue } from '../oauth/scope-catalogue.ts'
import { parseByteSize } from '../runtime/byte-size.ts'
import { ConfigError } from '../runtime/config-error.ts'
import { type Diagnostic, diagnostic, wholeFile } from '../runtime/diagnostic.ts'
import { displayPath } from '../runtime/display-path.ts'
import { parseDurationMs } from '../runtime/duration.ts'
import { readConfig } from '../runtime/read-config.ts'
import { readScopeCatalogue } from '../runtime/read-scope-catalogue.ts'
import { readTextFile } from '../runtime/read-text-file.ts'
import {
  AddressBlock,
  ByteSizeText,
  DurationText,
  FilePath,
  HttpAddress,
  HttpOrigin,
  PortNumber,
  SecretText,
  TimeoutText,
} from '../runtime/value-shapes.ts'
import { readAssertionKeys } from './identity/read-assertion-keys.ts'
import { basePathOf, type UpstreamSettings } from './upstreams/pool.ts'

/** Who issues tokens, and how the gateway asks about them. */
export type IssuerConfig = {
  readonly issuer: string
  readonly introspection: {
    readonly endpoint: string
    readonly clientId: string
    readonly clientSecret: string
    readonly timeoutMs: number
  }
  /** Where revocations are pushed from; undefined: they are noticed when a cached verdict ends. */
  readonly revocations: string | undefined
}

/** How the gateway ends. */
export type DrainConfig = {
  /** Not ready any longer, but still accepting: load balancers take that long to notice. */
  readonly delayMs: number
  /** From the request to end until whatever is still open is cut; the delay is part of it. */
  readonly graceMs: number
}

/** What the gateway runs with: durations and sizes already numbers, paths absolute, secrets read. */
export type GatewayConfig = {
  /** The public address, without a trailing slash. Never taken from a request. */
  readonly baseUrl: string
  readonly name: string
  readonly listen: { readonly host: string; readonly port: number }
  readonly management: { readonly host: string; readonly port: number }
  /** Peers that are believed about the client's address: blocks of addresses. */
  readonly trustedProxies: readonly string[]
  /** The one header in which they name it. */
  readonly forwardedHeader: 'x-forwarded-for' | 'forwarded'
  /** Processes that serve. 1: this one alone. */
  readonly workers: number
  readonly drain: DrainConfig
  readonly policiesDir: string
  readonly catalogue: ScopeCatalogue
  readonly upstreams: readonly UpstreamSettings[]
  readonly issuer: IssuerConfig
  /** Upstream of the bundled authorization server; undefined when somebody else issues the tokens. */
  readonly authorizationServer: { readonly upstream: string } | undefined
  /** How upstreams are told who calls where a policy says `upstreamAuth: assertion`. */
  readonly assertion: {
    /** Private keys in PEM; undefined: generated, in this process only. */
    readonly keyFile: string | undefined
    readonly ttlSeconds: number
  }
  readonly tokenCache: {
    readonly maxEntries: number
    readonly maxTtlMs: number
    readonly negativeTtlMs: number
  }
  readonly limits: {
    /** Where no route says otherwise. */
    readonly bodyBytes: number
    readonly headersBytes: number
    readonly targetBytes: number
    readonly tokenBytes: number
    /** Client connections at once, all workers together. */
    readonly connections: number
  }
  /** Shares rate limits among processes; undefined: each counts for itself. */
  readonly redis: { readonly url: string } | undefined
  readonly websockets: { readonly maxSessions: number; readonly maxSessionsPerCaller: number }
  readonly log: { readonly level: string; readonly subject: 'hashed' | 'plain' }
}

const Address = (description: string) =>
  Type.Object(
    {
      host: Type.String({ description: 'address to listen on', minLength: 1, maxLength: 255 }),
      port: PortNumber('port to listen on; 0 asks the system for a free one'),
    },
    { description },
  )

const Issuer = Type.Object(
  {
    issuer: HttpAddress('the issuer, exactly as it stands in its metadata and tokens'),
    introspection: Type.Object(
      {
        endpoint: HttpAddress('its introspection endpoint, reached directly'),
        clientId: Type.String({ description: "the gateway's client_id", minLength: 1, maxLength: 100 }),
        clientSecretFile: FilePath("file with the gateway's client_secret"),
        timeout: Type.Optional(TimeoutText('how long an answer may take')),
      },
      { description: 'how the gateway asks about tokens' },
    ),
    revocations: Type.Optional(HttpAddress('stream that tells about revoked tokens')),
  },
  { description: 'who issues tokens' },
)

/** Far more than any machine of today has use for. */
const MOST_WORKERS = 256

/** The shape of config/gateway.yaml. */
export const GatewayFile = Type.Object(
  {
    baseUrl: HttpOrigin('the public address; it is the resource that tokens are for'),
    name: Type.String({ description: 'what the API calls itself', minLength: 1, maxLength: 100 }),
    listen: Address('where the gateway listens'),
    management: Address('where /livez, /readyz and /metrics listen'),
    trustedProxies: Type.Optional(
      Type.Array(AddressBlock('a proxy in front, e.g. 10.0.0.0/8 or 192.0.2.7'), {
        description: 'proxies that are believed about the client address and the request id',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    forwardedHeader: Type.Optional(
      Type.Enum(['x-forwarded-for', 'forwarded'], {
        description: 'the header in which trusted proxies name the client: x-forwarded-for or forwarded',
      }),
    ),
    workers: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: MOST_WORKERS })], {
        description: 'processes that serve: a number, or auto for one on each CPU',
      }),
    ),
    drain: Type.Optional(
      Type.Object(
        {
          delay: Type.Optional(
            Type.String({
              description:
                'how long requests are taken after readiness has turned; 0s when nobody looks at readiness',
              pattern: '^([0-9]|[1-5][0-9])s$',
              'x-is': 'a number of seconds from 0s to 59s',
            }),
          ),
          grace: Type.Optional(TimeoutText('when whatever is still open is cut; the delay is part of it')),
        },
        { description: 'how the gateway ends' },
      ),
    ),
    policies: FilePath('folder of the policy files'),
    scopes: FilePath('the scope catalogue'),
    upstreams: FilePath('where the upstreams are'),
    issuers: Type.Array(Issuer, {
      description: 'who issues the tokens; one in this release',
      minItems: 1,
      maxItems: 1,
    }),
    authorizationServer: Type.Optional(
      Type.Object(
        {
          upstream: Type.String({
            description: 'upstream of the authorization server',
            minLength: 1,
            maxLength: 64,
          }),
        },
        { description: 'the bundled authorization server' },
      ),
    ),
    assertion: Type.Optional(
      Type.Object(
        {
          keyFile: Type.Optional(
            FilePath('file with the private keys that sign; without it one is generated at start'),
          ),
          ttl: Type.Optional(DurationText('how long an assertion is good: 5s to 60s')),
        },
        { description: 'the JWT that tells upstreams who calls' },
      ),
    ),
    tokenCache: Type.Optional(
      Type.Object(
        {
          maxEntries: Type.Optional(
            Type.Integer({ description: 'tokens to remember', minimum: 1, maximum: 10_000_000 }),
          ),
          maxTtl: Type.Optional(DurationText('how long a good token is remembered')),
          negativeTtl: Type.Optional(DurationText('how long a bad token is remembered')),
        },
        { description: 'what is remembered about tokens' },
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          body: Type.Optional(ByteSizeText('largest request body')),
          headers: Type.Optional(ByteSizeText('largest request head')),
          target: Type.Optional(ByteSizeText('longest path with query')),
          token: Type.Optional(ByteSizeText('longest Authorization header')),
          connections: Type.Optional(
            Type.Integer({ description: 'client connections at once', minimum: 1, maximum: 1_000_000 }),
          ),
        },
        { description: 'how much a request may hold' },
      ),
    ),
    redis: Type.Optional(
      Type.Object(
        { url: SecretText('address of Redis: redis://… or rediss://…') },
        { description: 'where rate limits are counted for all gateways together' },
      ),
    ),
    websockets: Type.Optional(
      Type.Object(
        {
          sessions: Type.Optional(
            Type.Integer({ description: 'open sessions of a process', minimum: 0, maximum: 1_000_000 }),
          ),
          sessionsPerCaller: Type.Optional(
            Type.Integer({
              description: 'open sessions of one subject or, without a token, of one address',
              minimum: 0,
              maximum: 1_000_000,
            }),
          ),
        },
        { description: 'how many WebSocket sessions there may be' },
      ),
    ),
    log: Type.Optional(
      Type.Object(
        {
          level: Type.Optional(
            Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
              description: 'trace, debug, info, warn, error, fatal or silent',
            }),
          ),
          subject: Type.Optional(
            Type.Enum(['hashed', 'plain'], { description: 'how subjects are shown: hashed or plain' }),
          ),
        },
        { description: 'the log on standard output' },
      ),
    ),
  },
  { description: 'config/gateway.yaml' },
)

const UpstreamEntry = Type.Object(
  {
    url: Type.Optional(HttpAddress('address of the upstream; a path in front is kept')),
    urls: Type.Optional(
      Type.Array(HttpAddress('an address of the upstream'), {
        description: 'several addresses of one upstream, in place of url, all with the same path',
        minItems: 1,
        maxItems: 64,
        uniqueItems: true,
      }),
    ),
    timeout: Type.Optional(TimeoutText('how long an answer may take to begin')),
    connectTimeout: Type.Optional(TimeoutText('how long a connection may take, TLS included')),
    idleTimeout: Type.Optional(
      TimeoutText('longest silence inside an answer, of the upstream or of a client that reads none of it'),
    ),
    ejection: Type.Optional(
      Type.Object(
        {
          failures: Type.Optional(
            Type.Integer({
              description: 'so many failures in a row, and an address gets no requests',
              minimum: 1,
              maximum: 1_000,
            }),
          ),
          for: Type.Optional(
            TimeoutText(
              'longest pause between two trials of an address that takes connections and answers nobody',
            ),
          ),
        },
        { description: 'when an address is left alone' },
      ),
    ),
    openapi: Type.Optional(
      Type.String({
        description: 'path of its own OpenAPI document',
        pattern: '^/[\\x21\\x22\\x24-\\x7e]*$',
        'x-is': 'a path such as /openapi.json',
      }),
    ),
  },
  { description: 'an upstream' },
)

/** The shape of config/upstreams.yaml. */
export const UpstreamsFile = Type.Record(
  Type.String({ pattern: '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$' }),
  UpstreamEntry,
  { description: 'config/upstreams.yaml', additionalProperties: false, minProperties: 1 },
)

/** What holds when the files say nothing. */
const DEFAULTS = {
  introspectionTimeout: '2s',
  upstreamTimeout: '10s',
  assertionTtl: '60s',
  connectTimeout: '2s',
  idleTimeout: '5m',
  ejection: { failures: 5, for: '30s' },
  drain: { delay: '5s', grace: '20s' },
  tokenCache: { maxEntries: 100_000, maxTtl: '30s', negativeTtl: '5s' },
  limits: { body: '10MiB', headers: '16KiB', target: '8KiB', token: '8KiB', connections: 20_000 },
  websockets: { sessions: 10_000, sessionsPerCaller: 100 },
  logLevel: 'info',
} as const

type File = Type.Static<typeof GatewayFile>
type UpstreamEntries = Readonly<Record<string, Type.Static<typeof UpstreamEntry>>>

/** Sections of the environment that belong to the files which config/gateway.yaml names. */
const UPSTREAMS_SECTION = 'UPSTREAMS'

/**
 * Reads config/gateway.yaml and the files it names: catalogue, upstreams, client secret.
 * @returns the configuration, and warnings that stop nothing.
 * @throws {ConfigError} listing everything that is wrong in the files that could be read; C302 to C308 are this
 * function's own: an unreadable secret, an unknown upstream, an issuer elsewhere, unclear addresses.
 */
export function readGatewayConfig(options: {
  readonly configDir: string
  readonly env: Readonly<Record<string, string | undefined>>
}): { readonly config: GatewayConfig; readonly warnings: readonly Diagnostic[] } {
  const file = join(options.configDir, 'gateway.yaml')
  const gateway = readConfig({
    file,
    schema: GatewayFile,
    env: options.env,
    otherSections: [UPSTREAMS_SECTION],
  })
  const { value } = gateway
  const problems: Diagnostic[] = []
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      problems.push(...error.diagnostics)
      return undefined
    }
  }
  const catalogue = attempt(() => readScopeCatalogue({ file: value.scopes }))
  const upstreams = attempt(() =>
    readConfig({
      file: value.upstreams,
      schema: UpstreamsFile,
      env: options.env,
      section: UPSTREAMS_SECTION,
    }),
  )
  const clientSecret = attempt(() => readSecret(issuerOf(value).introspection.clientSecretFile))
  if (upstreams !== undefined) {
    problems.push(...findUnclearAddresses(upstreams.value, displayPath(value.upstreams)))
    problems.push(...findUnknownUpstream(value, upstreams.value, displayPath(file)))
  }
  problems.push(...findAssertionTtl(value, displayPath(file)))
  attempt(() => value.assertion?.keyFile !== undefined && readAssertionKeys(value.assertion.keyFile))
  if (catalogue === undefined || upstreams === undefined || clientSecret === undefined || problems.length > 0)
    throw new ConfigError(problems)
  return {
    config: toConfig(value, { catalogue, upstreams: upstreams.value, clientSecret }),
    warnings: [...gateway.warnings, ...upstreams.warnings],
  }
}

function issuerOf(file: File): File['issuers'][number] {
  const [issuer] = file.issuers
  if (issuer === undefined) throw new Error('the schema asks for one issuer')
  return issuer
}

function readSecret(file: string): string {
  const shownAs = displayPath(file)
  const read = readTextFile(file, { shownAs, letter: 'C' })
  const secret = 'problem' in read ? '' : read.text.trim()
  if (secret !== '') return secret
  const why = 'problem' in read ? read.problem.message : 'the file is empty'
  throw new ConfigError([
    diagnostic('C302', `there is no client secret for the gateway: ${why}`, wholeFile(shownAs), {
      hint: 'put the client_secret there that the authorization server knows (issuers[0].introspection.clientSecretFile)',
    }),
  ])
}

function addressesOf(upstream: UpstreamEntries[string]): readonly string[] {
  return upstream.urls ?? (upstream.url === undefined ? [] : [upstream.url])
}

/** One of `url` and `urls`, and one path for all: it is what a canonical path is put behind. */
export function findUnclearAddresses(upstreams: UpstreamEntries, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, upstream]) => {
    if ((upstream.url === undefined) === (upstream.urls === undefined))
      return [
        diagnostic('C307', `${name}: an upstream has url or urls, one of the two`, wholeFile(shownAs), {
          hint: 'url for one address, urls for several',
        }),
      ]
    if (new Set(addressesOf(upstream).map(basePathOf)).size < 2) return []
    return [
      diagnostic('C308', `${name}.urls: the addresses have different paths`, wholeFile(shownAs), {
        hint: 'give all of them the same path, or make them two upstreams',
      }),
    ]
  })
}

function findUnknownUpstream(file: File, upstreams: UpstreamEntries, shownAs: string): readonly Diagnostic[] {
  const name = file.authorizationServer?.upstream
  if (name === undefined || Object.hasOwn(upstreams, name)) return []
  return [
    diagnostic('C303', `authorizationServer.upstream: there is no upstream "${name}"`, wholeFile(shownAs), {
      hint: `config/upstreams.yaml has ${Object.keys(upstreams).join(', ')}`,
    }),
  ]
}

/** Who gets hold of an assertion can use it until it ends: it is short, and not so short that it ends on its way. */
function findAssertionTtl(file: File, shownAs: string): readonly Diagnostic[] {
  const ttlMs = milliseconds(file.assertion?.ttl ?? DEFAULTS.assertionTtl)
  if (ttlMs >= 5_000 && ttlMs <= 60_000 && ttlMs % 1_000 === 0) return []
  return [
    diagnostic(
      'C305',
      'assertion.ttl: an assertion is good for 5s to 60s, in whole seconds',
      wholeFile(shownAs),
      {
        hint: 'leave it out for 60s',
      },
    ),
  ]
}

function toConfig(
  file: File,
  read: {
    readonly catalogue: ScopeCatalogue
    readonly upstreams: UpstreamEntries
    readonly clientSecret: string
  },
): GatewayConfig {
  const { issuer, introspection, revocations } = issuerOf(file)
  const tokenCache = { ...DEFAULTS.tokenCache, ...file.tokenCache }
  const drain = { ...DEFAULTS.drain, ...file.drain }
  const limits = { ...DEFAULTS.limits, ...file.limits }
  return Object.freeze({
    baseUrl: file.baseUrl,
    name: file.name,
    listen: file.listen,
    management: file.management,
    trustedProxies: file.trustedProxies ?? [],
    forwardedHeader: file.forwardedHeader ?? 'x-forwarded-for',
    workers: file.workers === 'auto' ? availableParallelism() : (file.workers ?? 1),
    drain: { delayMs: milliseconds(drain.delay), graceMs: milliseconds(drain.grace) },
    policiesDir: file.policies,
    catalogue: read.catalogue,
    upstreams: Object.entries(read.upstreams).map(([name, upstream]) => ({
      name,
      urls: addressesOf(upstream),
      timeoutMs: milliseconds(upstream.timeout ?? DEFAULTS.upstreamTimeout),
      connectTimeoutMs: milliseconds(upstream.connectTimeout ?? DEFAULTS.connectTimeout),
      idleTimeoutMs: milliseconds(upstream.idleTimeout ?? DEFAULTS.idleTimeout),
      ejection: {
        failures: upstream.ejection?.failures ?? DEFAULTS.ejection.failures,
        longestPauseMs: milliseconds(upstream.ejection?.for ?? DEFAULTS.ejection.for),
      },
      openapiPath: upstream.openapi,
    })),
    issuer: {
      issuer,
      introspection: {
        endpoint: introspection.endpoint,
        clientId: introspection.clientId,
        clientSecret: read.clientSecret,
        timeoutMs: milliseconds(introspection.timeout ?? DEFAULTS.introspectionTimeout),
      },
      revocations,
    },
    authorizationServer: file.authorizationServer,
    assertion: {
      keyFile: file.assertion?.keyFile,
      ttlSeconds: milliseconds(file.assertion?.ttl ?? DEFAULTS.assertionTtl) / 1_000,
    },
    tokenCache: {
      maxEntries: tokenCache.maxEntries,
      maxTtlMs: milliseconds(tokenCache.maxTtl),
      negativeTtlMs: milliseconds(tokenCache.negativeTtl),
    },
    limits: {
      bodyBytes: bytes(limits.body),
      headersBytes: bytes(limits.headers),
      targetBytes: bytes(limits.target),
      tokenBytes: bytes(limits.token),
      connections: limits.connections,
    },
    redis: file.redis,
    websockets: {
      maxSessions: file.websockets?.sessions ?? DEFAULTS.websockets.sessions,
      maxSessionsPerCaller: file.websockets?.sessionsPerCaller ?? DEFAULTS.websockets.sessionsPerCaller,
    },
    log: { level: file.log?.level ?? DEFAULTS.logLevel, subject: file.log?.subject ?? 'hashed' },
  })
}

// Both have been matched against the schema's pattern, so they parse.
function milliseconds(text: string): number {
  return parseDurationMs(text) ?? 0
}

function bytes(text: string): number {
  return parseByteSize(text) ?? 0
}
