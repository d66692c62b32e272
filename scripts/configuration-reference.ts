import { AuthorizationServerFile } from '../authorization-server/authorization-server-file.ts'
import { DEFAULTS as SERVER } from '../authorization-server/config.ts'
import { DEFAULTS as GATEWAY } from '../gateway/config/defaults.ts'
import { GatewayFile } from '../gateway/config/gateway-file.ts'
import { DEFAULT_POLICIES, FILE_DEFAULTS } from '../gateway/config/read-gateway-file.ts'
import { UpstreamEntry } from '../gateway/config/upstreams-file.ts'
import { DRAIN_DEFAULTS } from '../platform/config/drain-schema.ts'
import { ScopeCatalogueFile } from '../platform/config/read-scope-catalogue.ts'
import { isRecord } from '../platform/diagnostics/record.ts'
import { PresetsFile } from '../policy-engine/format/presets.ts'
import { exampleOf } from './example-of-key.ts'
import { keysOf, type Schema, table, valueText } from './schema-keys.ts'
import { stableNames } from './stable-names.ts'

const LOG = { level: 'info', format: 'default' }

/** The settings of a configuration file: its schema, and the value of each key that the file can omit. */
export type Settings = {
  readonly file: string
  readonly schema: object
  readonly defaults: Readonly<Record<string, unknown>>
}

/** Every configuration file with its settings. For upstreams.yaml, the settings of one upstream. */
export const CONFIGURATION: readonly Settings[] = [
  {
    file: 'gateway.yaml',
    schema: GatewayFile,
    defaults: flatten({
      ...FILE_DEFAULTS,
      policies: DEFAULT_POLICIES,
      workers: 1,
      forwardedHeader: 'x-forwarded-for',
      policyReload: GATEWAY.policyReload,
      docs: { enabled: GATEWAY.docsEnabled },
      drain: GATEWAY.drain,
      tls: { minVersion: GATEWAY.tlsMinVersion, http2: GATEWAY.tlsHttp2 },
      assertion: { ttl: GATEWAY.assertionTtl },
      tokenCache: GATEWAY.tokenCache,
      limits: GATEWAY.limits,
      overload: GATEWAY.overload,
      websockets: GATEWAY.websockets,
      compat: { resourcePathAliases: false },
      dpop: { nonce: 'off' },
      debug: { policyHeader: false },
      log: { ...LOG, subject: 'hashed' },
      'issuers[]': {
        introspection: { ...GATEWAY.introspection, signed: false },
        jwt: { ...GATEWAY.jwt, claims: GATEWAY.jwtClaims },
        staleIfError: GATEWAY.staleIfError,
      },
    }),
  },
  {
    file: 'upstreams.yaml',
    schema: UpstreamEntry,
    defaults: flatten({
      timeout: GATEWAY.upstreamTimeout,
      connectTimeout: GATEWAY.connectTimeout,
      idleTimeout: GATEWAY.idleTimeout,
      ...GATEWAY.upstreamConnections,
      ejection: GATEWAY.ejection,
      healthCheck: GATEWAY.healthCheck,
    }),
  },
  {
    file: 'authorization-server.yaml',
    schema: AuthorizationServerFile,
    defaults: flatten({
      drain: DRAIN_DEFAULTS,
      development: false,
      lifetimes: SERVER.lifetimes,
      accessTokens: SERVER.accessTokens,
      refreshTokens: { repeatWindow: SERVER.repeatWindow },
      registration: {
        redirectUris: { loopback: SERVER.loopbackHosts },
        bodyLimit: SERVER.bodyLimit,
        unusedClients: SERVER.unusedClients,
        rateLimit: SERVER.rateLimit,
      },
      authorization: SERVER.authorization,
      consent: { remember: SERVER.rememberConsent, rememberLocalApps: false },
      compat: { optionalState: false, loopbackRedirects: false },
      signIn: { local: true, secondFactor: { acr: SERVER.secondFactorAcr } },
      'integrations[]': { trusted: false },
      canary: { clientId: SERVER.canaryClientId },
      postgres: { pool: SERVER.postgresPool },
      log: LOG,
    }),
  },
]

/** Files whose keys have no environment variable. */
const SHARED: readonly Settings[] = [
  { file: 'scopes.yaml', schema: ScopeCatalogueFile, defaults: {} },
  { file: 'presets.yaml', schema: PresetsFile, defaults: {} },
]

/** Returns the tables of docs/configuration.md, one for each configuration file, and the other environment variables. */
export function configurationReference(): Readonly<Record<string, string>> {
  return Object.fromEntries([
    ...CONFIGURATION.map((settings) => [
      settings.file,
      table(
        ['key', 'value', 'default', 'example', 'environment variable', 'description'],
        rowsOf(settings).map((row) => row.toSpliced(4, 0, code(variableOf(settings.file, row[0] ?? '')))),
      ),
    ]),
    ...SHARED.map((settings) => [
      settings.file,
      table(['key', 'value', 'default', 'example', 'description'], rowsOf(settings)),
    ]),
    ['environment', table(['variable', 'effect'], environmentRows())],
  ])
}

function rowsOf({ schema: file, defaults }: Settings): readonly (readonly string[])[] {
  return keysOf(file).map(({ key, isRequired, schema }) => {
    const isMissing = isRequired && !Object.keys(defaults).some((path) => path.startsWith(`${key}.`))
    const initial = key in defaults ? code(notation(defaults[key])) : isMissing ? 'required' : ''
    const example = key in defaults ? notation(defaults[key]) : exampleOf(key, schema)
    return [code(key), boundedText(schema), initial, code(example), schema.description ?? '']
  })
}

function code(text: string | undefined): string {
  return text === undefined || text === '' ? '' : `\`${text}\``
}

/** Returns the environment variable of a key, with number 0 for an item of a list, and `<NAME>` for an upstream. */
export function variableOf(file: string, key: string): string {
  const levels = key
    .replaceAll('`', '')
    .replaceAll('[]', '.0')
    .split('.')
    .map((level) => level.replace(/(?<=[a-z0-9])[A-Z]/g, '_$&').toUpperCase())
  return ['SCOPEGATE', file === 'upstreams.yaml' ? 'UPSTREAMS__<NAME>__' : '', levels.join('__')]
    .join('_')
    .replace('__<NAME>___', '__<NAME>__')
    .replace('SCOPEGATE__', 'SCOPEGATE_')
}

/** Returns the accepted values of a key, with the bounds of the schema. */
function boundedText(schema: Schema): string {
  if (schema['x-path'] === true) return 'path'
  const value = schema['x-is'] ?? valueText(schema)
  return schema.type === 'array' && schema.maxItems !== undefined
    ? `${value}, at most ${schema.maxItems}`
    : value
}

/** Returns a value in the notation of the files. */
export function notation(value: unknown): string {
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value)
}

/** Returns the values of a nested object by the path of their keys. */
function flatten(values: object, prefix = ''): Settings['defaults'] {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) =>
      isRecord(value) ? Object.entries(flatten(value, `${prefix}${key}.`)) : [[`${prefix}${key}`, value]],
    ),
  )
}

/** The effect of each environment variable that is not the variable of a key. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  FORCE_COLOR: 'with any value except `0`, the output of commands has colors',
  LEARNING_PLATFORM_PORT: 'port of the demo API; default: 8082',
  NODE_COMPILE_CACHE:
    'folder in which Node.js stores compiled code, for faster starts; default of `scopegate`: a folder below `XDG_CACHE_HOME`',
  NODE_OPTIONS: 'options of Node.js, for example `--max-old-space-size`',
  NO_COLOR: 'with any value, the output of commands has no colors',
  OTEL_SDK_DISABLED: '`true` turns tracing off ([tracing](tracing.md))',
  PORT: 'sets `listen.port` if `SCOPEGATE_LISTEN__PORT` is not set',
  REDIS_URL: 'sets `redis.url` if `SCOPEGATE_REDIS__URL` is not set',
  SCOPEGATE_CONFIG_DIR: 'folder of the configuration files, if a command has no `--config`',
  SCOPEGATE_MANAGEMENT__PORT: 'sets `management.port`',
  XDG_CACHE_HOME: 'folder for caches; default: `~/.cache`',
}

/** @throws {Error} if the table and the code contain different variables. */
function environmentRows(): readonly (readonly string[])[] {
  const read = stableNames()['Environment variables'] ?? []
  const differ = new Set(read).symmetricDifference(new Set(Object.keys(ENVIRONMENT)))
  if (differ.size > 0)
    throw new Error(
      `scripts/configuration-reference.ts: describe exactly the variables that the code reads: ${[...differ].join(', ')}`,
    )
  return Object.entries(ENVIRONMENT).map(([name, effect]) => [code(name), effect])
}
