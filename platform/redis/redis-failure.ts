import { BootError } from '../diagnostics/boot-error.ts'
import type { RedisConnection, RedisSetting } from './redis-connection.ts'

/** A connection in messages: its setting, and its servers without user and password. */
export type ConnectionName = {
  readonly where: string
  readonly setting: RedisSetting
  readonly connection: RedisConnection
}

/** Formats the servers of a connection for logs and messages. */
export function nameConnection(connection: RedisConnection, setting: RedisSetting): ConnectionName {
  const { url, sentinel, cluster } = connection
  const list = (addresses: readonly string[]) => addresses.join(', ')
  const where =
    cluster !== undefined
      ? `cluster ${list(cluster.addresses)}`
      : sentinel !== undefined
        ? `${sentinel.name} of Sentinel ${list(sentinel.addresses)}`
        : describeRedisUrl(url ?? '', setting)
  return { where, setting, connection }
}

/**
 * Formats the address of a Redis for logs and messages: host, port and database, never user or password.
 * @throws {BootError} ERR_REDIS_URL when the text is not a redis:// or rediss:// address.
 */
export function describeRedisUrl(url: string, setting: RedisSetting = 'redis'): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new BootError(
      'ERR_REDIS_URL',
      `${urlSetting(setting)} is not an address of the form redis://host:6379 or rediss://host:6379.`,
      { exitCode: 3 },
    )
  // A `/`, `?` or `#` in a password ends the address before the host. The rest of the password is then in the path.
  if (!/^\/?\d*$/.test(parsed.pathname) || /@/.test(parsed.search + parsed.hash))
    throw new BootError(
      'ERR_REDIS_URL',
      `${urlSetting(setting)} has a path other than the number of a database. Encode / in a password as %2F, ? as %3F and # as %23.`,
      { exitCode: 3 },
    )
  const database = parsed.pathname.length > 1 ? parsed.pathname : ''
  return `${parsed.protocol}//${parsed.hostname}:${parsed.port || '6379'}${database}`
}

/** Returns the name of the setting for the servers, as messages show the name. */
export function addressSetting({ setting, connection }: Omit<ConnectionName, 'where'>): string {
  if (connection.cluster !== undefined) return `${setting}.cluster.addresses`
  return connection.sentinel !== undefined ? `${setting}.sentinel.addresses` : urlSetting(setting)
}

function urlSetting(setting: RedisSetting): string {
  return setting === 'redis' ? 'redis.url (REDIS_URL)' : `${setting}.url`
}

const REFUSED = /\b(NOAUTH|WRONGPASS|NOPERM)\b|^ERR AUTH/
const TLS_ERROR =
  /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|HOSTNAME_|INVALID_CA|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO)/

/** Explains why a connection cannot be used. The message names the setting, and contains no secret. */
export function explainFailure(name: ConnectionName, cause: unknown): BootError {
  const { where, setting } = name
  const text = cause instanceof Error ? cause.message : String(cause)
  const fail = (code: string, message: string): BootError => new BootError(code, message, { cause })
  const reply = REFUSED.exec(text)?.[0].split(' ', 1)[0]
  if (reply !== undefined)
    return fail(
      'ERR_REDIS_REFUSED',
      `Redis at ${where} denied access (${reply}). ${credentialRemedy(name, reply, text)}`,
    )
  if (/^CLUSTERDOWN|cluster_state:fail/.test(text))
    return fail(
      'ERR_REDIS_CLUSTER_DOWN',
      `Redis at ${where} is not complete (CLUSTERDOWN): some slots have no primary. Start the missing nodes (${setting}.cluster).`,
    )
  if (/^MOVED /.test(text))
    return fail(
      'ERR_REDIS_CLUSTER_NODE',
      `Redis at ${where} is one node of a Redis Cluster. Name nodes in ${setting}.cluster.addresses instead of ${addressSetting(name)}.`,
    )
  if (/cluster support disabled/.test(text))
    return fail(
      'ERR_REDIS_NO_CLUSTER',
      `Redis at ${where} is not a Redis Cluster. Use ${setting}.url or ${setting}.sentinel instead of ${setting}.cluster.`,
    )
  if (/No such master|invalid reply: null/.test(text))
    return fail(
      'ERR_REDIS_SENTINEL',
      `Redis at ${where} cannot be found: no Sentinel monitors a primary of this name. Correct ${setting}.sentinel.name.`,
    )
  const reason = codeOf(cause) ?? text
  if (TLS_ERROR.test(reason)) return fail('ERR_REDIS_TLS', tlsMessage(name, reason))
  // A server that rejects the client certificate can reset the connection without an alert.
  const settings = [addressSetting(name), ...(name.connection.tls ? [`${setting}.tls`] : [])].join(' or ')
  return fail(
    'ERR_REDIS_UNREACHABLE',
    `Redis at ${where} cannot be reached (${reason}). Start Redis, or correct ${settings}.`,
  )
}

/** Returns true for a failure that can end without a change of the settings. */
export function isTemporary({ code, message }: BootError): boolean {
  return (
    code === 'ERR_REDIS_UNREACHABLE' ||
    code === 'ERR_REDIS_CLUSTER_DOWN' ||
    (code === 'ERR_REDIS_TLS' && message.includes('CERT_HAS_EXPIRED'))
  )
}

function credentialRemedy({ setting, connection }: ConnectionName, reply: string, text: string): string {
  if (reply === 'NOPERM') return `Give the user of ${setting} the permissions of docs/connect-redis.md.`
  if (/sentinel/.test(text) && connection.sentinel !== undefined)
    return `Check ${setting}.sentinel.username and ${setting}.sentinel.passwordFile.`
  return connection.passwordFile === undefined && connection.url !== undefined
    ? `Check user and password in ${urlSetting(setting)}.`
    : `Check ${setting}.username and ${setting}.passwordFile.`
}

function tlsMessage({ where, setting }: ConnectionName, reason: string): string {
  const failed = `TLS to Redis at ${where} failed (${reason}).`
  if (reason === 'CERT_HAS_EXPIRED')
    return `${failed} Renew the certificate of Redis or its CA (${setting}.tls.caFile).`
  if (reason === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${failed} The certificate must contain the host name or address of the server that is set in ${setting}.`
  if (/^(ERR_SSL_|EPROTO)/.test(reason))
    return `${failed} Check that this port uses TLS. If Redis requires a client certificate, check ${setting}.tls.certFile.`
  return `${failed} Set ${setting}.tls.caFile to the CA of the certificate.`
}

/** Returns the code of a failure. ioredis reports the code of a refused Sentinel connection only in the message. */
function codeOf(cause: unknown): string | undefined {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
}
