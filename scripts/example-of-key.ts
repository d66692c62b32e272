import type { Schema } from './schema-keys.ts'

/** Examples of keys whose schema describes no text, by the end of the key. The longest end has precedence. */
const ENDS: Readonly<Record<string, string>> = {
  'listen.host': '0.0.0.0',
  'management.host': '0.0.0.0',
  'sentinel.name': 'main',
  'providers[].title': 'Example Inc.',
  'claims.name': 'name',
  'claims.email': 'email',
  'claims.groups': 'groups',
  'claims.roles': 'roles',
  'admit.groups': 'staff',
  'gatewayClient.id': 'gateway',
  'keys.file': '/etc/scopegate/jwks.json',
  'redis.url': 'redis://redis:6379',
  'revocationRedis.url': 'redis://revocations:6379',
  'postgres.url': 'postgres://scopegate@postgres:5432/scopegate',
  'resources[].name': 'Course tools',
  'policySources[].name': 'billing',
  'permissions.pathPrefixes': '/api/billing',
  'permissions.upstreams': 'billing',
  'permissions.scopes': 'billing:*',
  'scopes[].name': 'courses:read',
  'scopes[].description': 'See courses and their lessons',
  'scopes[].group': 'Courses',
  'scopes[].implies': 'courses:list',
  'authorizationServer.upstream': 'authorization-server',
  adminTokenFile: './admin-token',
  audience: 'https://api.example.com',
  auditFile: '/var/log/scopegate/audit.log',
  caFile: './ca.crt',
  certFile: './tls.crt',
  clientId: 'gateway',
  clientName: 'Example app',
  clientSecretFile: './client-secret',
  cookieKeysFile: './cookie-keys',
  css: './look.css',
  dataDir: '/var/lib/scopegate',
  defaultScope: 'openid profile',
  folder: '../policies/billing',
  keyFile: './tls.key',
  keyId: 'key-1',
  lastFetchFile: '../policies/.git/last-fetch',
  linkedConsole: 'https://console.example.com',
  logo: './logo.svg',
  name: 'Learning platform',
  nonceSecretFile: './nonce-secret',
  owner: 'team-billing',
  passwordFile: './password',
  postLogoutRedirectUris: 'https://app.example.com/signed-out',
  presets: './presets.yaml',
  redirectUris: 'https://app.example.com/callback',
  root: '../policies',
  scopes: 'courses:read',
  secretFile: './secret',
  signingKeysFile: '/etc/scopegate/signing-keys.json',
  username: 'scopegate',
  valueFile: './api-key',
}

/** `scopes` at the top of a file is the path of the scope catalogue. */
const SCOPE_FILE = './scopes.yaml'

function byEnd(key: string): string | undefined {
  const levels = key.split('.')
  const ends = levels.map((_, index) => levels.slice(index).join('.'))
  return ends.flatMap((end) => ENDS[end] ?? [])[0]
}

/** Returns an example of a key, in the notation of the files. A map and a list of maps have no example of their own. */
export function exampleOf(key: string, schema: Schema): string {
  if (schema.const !== undefined) return String(schema.const)
  if (schema.enum !== undefined) return String(schema.enum[0])
  if (schema.anyOf !== undefined) return exampleOf(key, schema.anyOf[0] ?? {})
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object') return ''
  if (type === 'array') {
    const item = byEnd(key) ?? exampleOf(key, schema.items ?? {})
    return schema.items?.type === 'object' || item === '' ? '' : `[${item}]`
  }
  if (type === 'boolean') return 'true'
  if (type === 'integer' || type === 'number') return String(Math.max(schema.minimum ?? 1, 1))
  if (key === 'scopes' && schema['x-path'] === true) return SCOPE_FILE
  const [, described] = /such as (\S+?)(?:,| or |$)/.exec(schema['x-is'] ?? '') ?? []
  const text = described ?? byEnd(key) ?? ''
  return text.startsWith('#') ? `"${text}"` : text // YAML reads # as a comment
}
