import { AuthorizationServerFile } from '../authorization-server/authorization-server-file.ts'
import { DEFAULTS as SERVER } from '../authorization-server/config.ts'
import { DEFAULTS as GATEWAY } from '../gateway/config/defaults.ts'
import { GatewayFile } from '../gateway/config/gateway-file.ts'
import { DEFAULT_POLICIES, FILE_DEFAULTS } from '../gateway/config/read-gateway-file.ts'
import { UpstreamEntry } from '../gateway/config/upstreams-file.ts'
import { DRAIN_DEFAULTS } from '../platform/config/drain-schema.ts'
import { isRecord } from '../platform/diagnostics/record.ts'
import { keysOf, type Schema, table, valueText } from './schema-keys.ts'

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

/** Returns the tables of docs/configuration.md, one for each configuration file. */
export function configurationReference(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    CONFIGURATION.map((settings) => [
      settings.file,
      table(['key', 'value', 'default', 'description'], rowsOf(settings)),
    ]),
  )
}

function rowsOf({ schema: file, defaults }: Settings): readonly (readonly string[])[] {
  return keysOf(file).map(({ key, isRequired, schema }) => {
    const isMissing = isRequired && !Object.keys(defaults).some((path) => path.startsWith(`${key}.`))
    const initial = key in defaults ? `\`${notation(defaults[key])}\`` : isMissing ? 'required' : ''
    return [`\`${key}\``, boundedText(schema), initial, schema.description ?? '']
  })
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
