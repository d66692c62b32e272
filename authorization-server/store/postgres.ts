import { setTimeout as pause } from 'node:timers/promises'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { isResponseTimeout, type PostgresPool, sqlState } from './postgres-connection.ts'
import { StoreError, type StoreErrorReason } from './store.ts'

const MAX_ATTEMPTS = 3
/**
 * Maximum pause before an operation is repeated. The pause is random, so that transactions that blocked each other run
 * at different times.
 */
const MAX_PAUSE_MS = 20

/** SQLSTATEs after which PostgreSQL has rolled the transaction back: `serialization_failure`, `deadlock_detected`. */
const ROLLED_BACK: readonly string[] = ['40001', '40P01']
/** SQLSTATEs of a connection that the server closed: `admin_shutdown`, `crash_shutdown`, `idle_session_timeout`. */
const CLOSED: readonly string[] = ['57P01', '57P02', '57P05']

/**
 * Runs one operation on PostgreSQL and classifies its failure. Repeats an operation that PostgreSQL rolled back, at
 * most twice.
 * @param repeatable true: the operation runs again once after a lost connection. Two executions must have the effect of
 * one.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE: the outcome of a write may be unknown. ERR_STORE_DAMAGED.
 */
export async function attemptPostgres<T>(work: () => Promise<T>, repeatable = false): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (cause) {
      const state = sqlState(cause) ?? ''
      const mayRepeat = ROLLED_BACK.includes(state)
        ? attempt < MAX_ATTEMPTS
        : repeatable && attempt === 1 && isConnectionLost(cause)
      if (!mayRepeat) throw toStoreError(cause)
      await pause(Math.random() * MAX_PAUSE_MS)
    }
  }
}

/**
 * Reads the clock that all servers on the database share, in seconds since the epoch.
 * @throws {StoreError} ERR_STORE_UNAVAILABLE.
 */
export async function readPostgresClock(pool: PostgresPool): Promise<number> {
  const statement = { name: 'clock', text: 'select floor(extract(epoch from now())) as now' }
  const { rows } = await attemptPostgres(() => pool.query<{ now: string }>(statement), true)
  return Number(rows[0]?.now)
}

function toStoreError(cause: unknown): StoreError {
  const reason = reasonOf(cause)
  const code = reason === 'damaged' ? 'ERR_STORE_DAMAGED' : 'ERR_STORE_UNAVAILABLE'
  return new StoreError(code, 'The PostgreSQL store failed.', { cause, reason })
}

function isConnectionLost(cause: unknown): boolean {
  const state = sqlState(cause)
  if (state !== undefined) return CLOSED.includes(state)
  // Excludes a refused connection and a timeout, because a repeated operation would fail again.
  return (
    cause instanceof Error &&
    !isResponseTimeout(cause) &&
    /terminated unexpectedly|ECONNRESET|EPIPE|not queryable/.test(cause.message)
  )
}

/** Source: https://www.postgresql.org/docs/current/errcodes-appendix.html. */
const REASONS: Readonly<Record<string, StoreErrorReason>> = {
  '25006': 'read_only', // read_only_sql_transaction
  '40001': 'locked', // serialization_failure
  '40P01': 'locked', // deadlock_detected
  '53100': 'full', // disk_full
  '53300': 'away', // too_many_connections
  '55P03': 'locked', // lock_not_available
  '57014': 'away', // query_canceled: statement timeout
  '57P01': 'away', // admin_shutdown
  '57P02': 'away', // crash_shutdown
  '57P03': 'away', // cannot_connect_now
  '57P05': 'away', // idle_session_timeout
  XX001: 'damaged', // data_corrupted
  XX002: 'damaged', // index_corrupted
}

function reasonOf(cause: unknown): StoreErrorReason {
  const state = sqlState(cause)
  if (state === undefined) return 'away'
  return REASONS[state] ?? (state.startsWith('08') ? 'away' : 'failed')
}

const CERTIFICATE_ERROR =
  /^(?:CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/

/**
 * Explains a failure at start. The message names the setting to change if the cause is known. The message never
 * contains the password.
 * @param where address from `describePostgresUrl()`.
 */
export function explainPostgres(where: string, cause: unknown): BootError {
  if (cause instanceof BootError) return cause
  const message = messageOf(cause)
  const state = sqlState(cause) ?? ''
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const fail = (name: string, text: string) =>
    new BootError(name, `PostgreSQL at ${where} ${text}`, { cause })
  if (/no encryption|SSL off/.test(message))
    return fail(
      'ERR_POSTGRES_TLS',
      `accepts this user with TLS only (${message}). Set postgres.caFile, or add ?sslmode=verify-full to postgres.url.`,
    )
  if (/does not support SSL/.test(message))
    return fail(
      'ERR_POSTGRES_TLS',
      'does not support TLS. Switch TLS on at the server (ssl = on). On a private network, remove postgres.caFile and sslmode.',
    )
  if (code.includes('_ALERT_'))
    return fail(
      'ERR_POSTGRES_TLS',
      `rejected the client certificate (${code}). Write a certificate of a CA in ssl_ca_file of PostgreSQL into the file in postgres.certFile.`,
    )
  if (CERTIFICATE_ERROR.test(code))
    return fail(
      'ERR_POSTGRES_TLS',
      `has a certificate that is not valid (${code}). Check the names and the expiry of the certificate, and write its CA certificate into the file in postgres.caFile.`,
    )
  if (/client certificate/.test(message))
    return fail(
      'ERR_POSTGRES_REFUSED',
      `requires a client certificate (${message}). Set postgres.certFile and postgres.keyFile.`,
    )
  if (state.startsWith('28') || message.startsWith('SASL'))
    return fail(
      'ERR_POSTGRES_REFUSED',
      `rejected the user or the password (${message}). Check postgres.url and postgres.passwordFile.`,
    )
  if (state === '3D000')
    return fail(
      'ERR_POSTGRES_DATABASE',
      `has no such database (${message}). Create the database, or name another database in postgres.url.`,
    )
  if (state === '42501')
    return fail(
      'ERR_POSTGRES_PERMISSION',
      `denies the user of postgres.url a permission (${message}). Make this user the owner of the database or of the schema scopegate.`,
    )
  if (state === '25006')
    return fail('ERR_POSTGRES_READ_ONLY', 'is read-only. Name the primary in postgres.url.')
  if (state === '' || state.startsWith('08') || state.startsWith('57') || state.startsWith('53'))
    return fail(
      'ERR_POSTGRES_UNREACHABLE',
      `cannot be reached (${message}). Start PostgreSQL, or correct postgres.url (SCOPEGATE_POSTGRES__URL).`,
    )
  return fail('ERR_POSTGRES_FAILED', `cannot store data (${state}: ${message}).`)
}

/**
 * Returns the message of an error, or its code if the message is empty. If several attempts failed (IPv4 and IPv6),
 * returns the code of each attempt.
 */
function messageOf(cause: unknown): string {
  if (cause instanceof AggregateError)
    return [...new Set(cause.errors.map((error: NodeJS.ErrnoException) => error.code ?? error.message))].join(
      ', ',
    )
  const message = cause instanceof Error ? cause.message : String(cause)
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return message === '' ? code : message
}
