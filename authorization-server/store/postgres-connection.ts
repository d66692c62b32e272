import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { type ConnectionOptions, createSecureContext } from 'node:tls'
import type {
  Client,
  ClientBase,
  ClientConfig,
  PoolClient,
  QueryConfig,
  QueryResult,
  QueryResultRow,
} from 'pg'
import { BootError } from '../../platform/diagnostics/boot-error.ts'
import { errorCode } from '../../platform/diagnostics/error-code.ts'
import { pemCertificates } from '../../platform/net/pem-certificates.ts'
import { POSTGRES_COMMANDS } from '../../platform/tracing/store-spans.ts'
import { readSecretFile } from '../keys/create-file-once.ts'

/** Connection to one PostgreSQL database. Paths are absolute. */
export type PostgresConnection = {
  /** `postgres://user@host:5432/database`. The password and the parameter `sslmode` are optional. */
  readonly url: string
  /** File with the password. The server reads the file for each new connection. */
  readonly passwordFile: string | undefined
  /**
   * PEM file with the CA certificates for TLS, which the server reads for each new connection. The setting enables TLS,
   * also without `sslmode`.
   */
  readonly caFile: string | undefined
  /**
   * PEM file with the client certificate. The server reads this file and `keyFile` for each new connection. The setting
   * enables TLS, also without `sslmode`.
   */
  readonly certFile?: string | undefined
  /** PEM file with the key of the client certificate. */
  readonly keyFile?: string | undefined
  readonly pool: {
    readonly max: number
    /** Maximum wait for a new connection or for a free connection of the pool. */
    readonly connectTimeoutMs: number
    readonly statementTimeoutMs: number
  }
}

export type PostgresPool = {
  /** Address without user and password, for messages. */
  readonly where: string
  query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>>
  /** Opens a connection outside the pool. The caller must close this connection. */
  connect(timeouts: { readonly statementMs: number }): Promise<Client>
  /**
   * Returns false if the pool has replaced its connections since this connection was created. The reason for a
   * replacement is a server that does not accept writes or does not respond.
   */
  isCurrent(client: Client): boolean
  close(): Promise<void>
}

const APPLICATION_NAME = 'scopegate'
const DEFAULT_PORT = '5432'
const IDLE_TIMEOUT_MS = 60_000
/**
 * PostgreSQL cancels a statement at its timeout. After this additional time, the client stops waiting for a server that
 * does not respond.
 */
const RESPONSE_MARGIN_MS = 500
const REPLACE_EVERY_MS = 500
const KEEP_ALIVE_DELAY_MS = 10_000

/**
 * Opens a pool. The first statement opens the first connection.
 * @throws {BootError} ERR_POSTGRES_URL, ERR_SECRET_FILE, ERR_POSTGRES_TLS. The messages do not contain the password.
 */
export async function openPostgresPool(connection: PostgresConnection): Promise<PostgresPool> {
  const where = describePostgresUrl(connection.url)
  const settings = await readSettings(connection)
  const server = { serverAddress: settings.host, serverPort: settings.port }
  // Imports the PostgreSQL client only in a process that uses PostgreSQL.
  const { Client: PgClient, Pool } = await import('pg')
  const { max, connectTimeoutMs, statementTimeoutMs } = connection.pool
  const pool = new Pool({
    ...settings,
    Client: limitStatements(PgClient, statementTimeoutMs),
    query_timeout: statementTimeoutMs + RESPONSE_MARGIN_MS,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    max,
  })
  /**
   * Number of the current generation of connections. A new generation starts when a server does not accept writes or
   * does not respond. The pool closes connections of earlier generations instead of using them.
   */
  let generation = 0
  let replacedAtMs = Number.NEGATIVE_INFINITY
  const generations = new WeakMap<ClientBase, number>()
  pool.on('connect', (client) => {
    generations.set(client, generation)
  })
  pool.on('error', ignore)

  function replaceConnections(): void {
    if (performance.now() - replacedAtMs < REPLACE_EVERY_MS) return
    replacedAtMs = performance.now()
    generation += 1
  }

  async function acquire(): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect()
      if (generations.get(client) === generation) return client
      client.release(true)
    }
  }

  async function run<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>> {
    const client = await acquire()
    try {
      const result = await client.query<Row>(statement)
      client.release()
      return result
    } catch (error) {
      const state = sqlState(error)
      if (state === READ_ONLY || isResponseTimeout(error)) replaceConnections()
      client.release(state === undefined || state === READ_ONLY || isFatal(error))
      throw error
    }
  }

  return {
    where,
    query: <Row extends QueryResultRow>(statement: QueryConfig) => {
      const [command = ''] = /\w+/.exec(statement.text) ?? []
      return POSTGRES_COMMANDS.tracePromise(() => run<Row>(statement), { command, ...server })
    },
    connect: async ({ statementMs }) => {
      const LimitedClient = limitStatements(PgClient, statementMs)
      const client = new LimitedClient({
        ...settings,
        query_timeout: statementMs + RESPONSE_MARGIN_MS,
        connectionTimeoutMillis: connectTimeoutMs,
      })
      // Runs before the connection opens, so that a replacement of all connections during this time also replaces this
      // connection.
      generations.set(client, generation)
      await client.connect()
      return client
    },
    isCurrent: (client) => generations.get(client) === generation,
    close: async () => {
      if (!pool.ending) await pool.end()
    },
  }
}

/** SQLSTATE `read_only_sql_transaction`: a standby, or a database that is set to read-only. */
const READ_ONLY = '25006'

/**
 * Returns the SQLSTATE of an error that PostgreSQL reported; undefined for a failure of the connection.
 * Source: https://www.postgresql.org/docs/current/errcodes-appendix.html.
 */
export function sqlState(error: unknown): string | undefined {
  return error instanceof Error && 'severity' in error && 'code' in error ? String(error.code) : undefined
}

/** Returns true when PostgreSQL closes the connection after the error. */
function isFatal(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity !== 'ERROR'
}

/** Returns true when PostgreSQL did not respond in time. The outcome of the statement is unknown. */
export function isResponseTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/**
 * Formats the address of a database for logs and messages: host, port and database, never user or password.
 * @throws {BootError} ERR_POSTGRES_URL.
 */
export function describePostgresUrl(url: string): string {
  const { host, port, database } = parsePostgresUrl(url)
  return `postgres://${isIP(host) === 6 ? `[${host}]` : host}:${port}/${database}`
}

type PostgresAddress = {
  readonly host: string
  readonly port: string
  readonly user: string
  readonly password: string
  readonly database: string
  /** Whether to use TLS. Undefined: the URL has no `sslmode`. */
  readonly tls: boolean | undefined
}

/**
 * Supported values of the libpq parameter `sslmode`, and whether each value enables TLS. With TLS, the client always
 * verifies the certificate and the host name, also for `require`.
 */
const TLS_MODES: Readonly<Record<string, boolean>> = {
  disable: false,
  require: true,
  'verify-ca': true,
  'verify-full': true,
}

/** @throws {BootError} ERR_POSTGRES_URL. */
function parsePostgresUrl(text: string): PostgresAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const host = url?.hostname.replace(/^\[(.*)\]$/, '$1') ?? ''
  if (
    url === undefined ||
    !['postgres:', 'postgresql:'].includes(url.protocol) ||
    !(/^[A-Za-z0-9._-]+$/.test(host) || isIP(host) === 6)
  )
    throw wrongUrl('is not an address of the form postgres://user@host:5432/database')
  const [user, password, database] = [url.username, url.password, url.pathname.slice(1)].map(decode)
  if (!user) throw wrongUrl('has no user')
  if (!database) throw wrongUrl('has no database')
  for (const name of url.searchParams.keys())
    if (name !== 'sslmode') throw wrongUrl(`has the unsupported parameter ${name}`)
  const mode = url.searchParams.get('sslmode')
  const tls = mode === null ? undefined : TLS_MODES[mode]
  if (mode !== null && tls === undefined)
    throw wrongUrl(`has an unsupported sslmode: use ${Object.keys(TLS_MODES).join(', ')}`)
  return { host, port: url.port || DEFAULT_PORT, user, password: password ?? '', database, tls }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw wrongUrl('has a % that does not begin an encoded character; write %25')
  }
}

function wrongUrl(problem: string): BootError {
  return new BootError(
    'ERR_POSTGRES_URL',
    `postgres.url (SCOPEGATE_POSTGRES__URL) ${problem}. Example: postgres://scopegate@db.example.com:5432/scopegate?sslmode=verify-full.`,
    { exitCode: 3 },
  )
}

async function readSettings(
  connection: PostgresConnection,
): Promise<ClientConfig & { readonly host: string; readonly port: number }> {
  const { host, port, user, password, database, tls } = parsePostgresUrl(connection.url)
  const { passwordFile, caFile, certFile } = connection
  const [tlsSetting] = Object.entries({ caFile, certFile }).find(([, file]) => file !== undefined) ?? []
  if (tlsSetting !== undefined && tls === false)
    throw wrongUrl(`has sslmode=disable, but postgres.${tlsSetting} is set: remove one of them`)
  const readPassword =
    passwordFile === undefined ? async () => password : await openPasswordFile(passwordFile)
  return {
    host,
    port: Number(port),
    user,
    database,
    password: readPassword,
    ssl: tls === true || tlsSetting !== undefined ? await tlsOptions(connection) : false,
    application_name: APPLICATION_NAME,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
  }
}

/**
 * Reads a password file. A changed password applies to new connections. If the file is empty or cannot be read, for
 * example during its replacement, the last password applies.
 * @throws {BootError} ERR_SECRET_FILE when the file cannot be read at start.
 */
async function openPasswordFile(file: string): Promise<() => Promise<string>> {
  const read = async (): Promise<string> =>
    (await readSecretFile(file, 'postgres.passwordFile')).replace(/\r?\n$/, '')
  let last = await read()
  return async () => {
    last = (await read().catch(() => '')) || last
    return last
  }
}

/**
 * Returns TLS options that verify the certificate and the host name. Changed files apply to new connections.
 * @throws {BootError} ERR_POSTGRES_TLS, ERR_SECRET_FILE.
 */
async function tlsOptions({ caFile, certFile, keyFile }: PostgresConnection): Promise<ConnectionOptions> {
  const options: ConnectionOptions = { rejectUnauthorized: true }
  const define = (name: 'ca' | 'cert' | 'key', get: () => string) =>
    Object.defineProperty(options, name, { get, enumerable: true, configurable: true })
  if (caFile !== undefined) define('ca', await openAuthorities(caFile))
  if (certFile !== undefined && keyFile !== undefined) {
    const { readCert, key } = await openClientCertificate(certFile, keyFile)
    define('cert', readCert)
    // `pg` reads `key` after `cert`.
    define('key', key)
  }
  return options
}

/**
 * Reads the CA certificates again for each connection. If the file contains no certificate or is unreadable, for example
 * during its replacement, the last content applies.
 * @throws {BootError} ERR_POSTGRES_TLS, ERR_SECRET_FILE.
 */
async function openAuthorities(caFile: string): Promise<() => string> {
  let ca = await readSecretFile(caFile, 'postgres.caFile')
  if (pemCertificates(ca).length === 0)
    throw new BootError(
      'ERR_POSTGRES_TLS',
      `${caFile} (postgres.caFile) contains no PEM certificate. Write the CA certificates of PostgreSQL into this file.`,
      { exitCode: 3 },
    )
  return () => {
    try {
      const read = readFileSync(caFile, 'utf8')
      if (pemCertificates(read).length > 0) ca = read
    } catch {
      // The last content stays in use.
    }
    return ca
  }
}

/**
 * Reads the client certificate and its key. `readCert` reads both files again. If they are not usable, for example
 * during their replacement, the last content applies.
 * @throws {BootError} ERR_POSTGRES_TLS, ERR_SECRET_FILE.
 */
async function openClientCertificate(
  certFile: string,
  keyFile: string,
): Promise<{ readonly readCert: () => string; readonly key: () => string }> {
  let last = {
    cert: await readSecretFile(certFile, 'postgres.certFile'),
    key: await readSecretFile(keyFile, 'postgres.keyFile'),
  }
  try {
    createSecureContext(last)
  } catch (cause) {
    throw new BootError(
      'ERR_POSTGRES_TLS',
      `The client certificate of PostgreSQL is not usable (${errorCode(cause)}). Write a PEM certificate into ${certFile} (postgres.certFile), and its PEM key into ${keyFile} (postgres.keyFile).`,
      { exitCode: 3 },
    )
  }
  const readCert = () => {
    try {
      const read = { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
      createSecureContext(read)
      last = read
    } catch {
      // The last content stays in use.
    }
    return last.cert
  }
  return { readCert, key: () => last.key }
}

type ConnectCallback = ((error: Error) => void) | ((error: null, client: Client) => void)

/**
 * The lock timeout as a share of the statement timeout. The lock timeout is shorter, because its error names the lock.
 */
const LOCK_SHARE = 0.75

/**
 * Returns a client class with limits for each statement. The client sends the limits after the start of the session,
 * because poolers such as PgBouncer reject unknown start-up parameters.
 * The client also closes its connection when it cannot authenticate. `pg` leaves this connection open.
 */
function limitStatements(PgClient: typeof Client, statementMs: number): typeof Client {
  const limits = `set statement_timeout = ${statementMs}; set lock_timeout = ${Math.ceil(statementMs * LOCK_SHARE)}`
  return class LimitedClient extends PgClient {
    constructor(config?: string | ClientConfig) {
      super(config)
      this.on('error', ignore) // the statement reports the failure
    }

    override connect(): Promise<Client>
    override connect(done: ConnectCallback): void
    override connect(done?: ConnectCallback): Promise<Client> | undefined {
      const connected = this.#start()
      if (done === undefined) return connected
      connected.then(
        (client) => (done as (error: null, client: Client) => void)(null, client),
        done as (error: Error) => void,
      )
      return undefined
    }

    async #start(): Promise<Client> {
      try {
        await super.connect()
        await this.query(limits)
        return this
      } catch (error) {
        this.end().catch(ignore)
        throw error
      }
    }
  }
}

function ignore(): void {}
