import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../../authorization-server/store/open-store.ts'
import {
  describePostgresUrl,
  openPostgresPool,
  type PostgresConnection,
} from '../../../authorization-server/store/postgres-connection.ts'
import { openPostgresStore } from '../../../authorization-server/store/postgres-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'
import { startFaultProxy } from '../../fixtures/fault-proxy.ts'
import { POOL, startPostgres } from '../../fixtures/postgres.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { TOKEN_CONFIG, TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const options = { ...TOKEN_SETTINGS, nowSeconds: () => 1_000 }
const at = (url: string, more: Partial<PostgresConnection> = {}): PostgresConnection => ({
  url,
  passwordFile: undefined,
  caFile: undefined,
  pool: POOL,
  ...more,
})
const authority = aCertificate({ authority: true })
const server = await startPostgres({ password: 'right', tls: aCertificate({ by: authority }) })
t.teardown(() => server.remove())
const plain = `127.0.0.1:${server.port}/scopegate`

async function open(t: Test, connection: PostgresConnection): Promise<Store> {
  const store = await openPostgresStore(connection, options)
  t.teardown(() => store.close())
  return store
}

/** Asserts that the start fails with this code and message. The message must not contain the password. */
async function fails(t: Test, connection: PostgresConnection, code: string, message: RegExp): Promise<void> {
  const error = await openPostgresStore(connection, options).then(
    async (store) => void (await store.close()),
    (error: unknown) => error,
  )
  t.match(error, { name: 'BootError', code, message }, message.source)
  t.notMatch(String((error as Error | undefined)?.message), 's3cret')
}

t.test('describePostgresUrl() never shows user or password', async (t) => {
  t.equal(
    describePostgresUrl('postgres://admin:s3cret@db.example:6543/grants?sslmode=disable'),
    'postgres://db.example:6543/grants',
  )
  t.equal(describePostgresUrl('postgresql://u@[::1]/a%20b'), 'postgres://[::1]:5432/a b')
  for (const [url, problem] of [
    ['', 'is not an address'],
    ['s3cret', 'is not an address'],
    ['mysql://u:s3cret@db/x', 'is not an address'],
    ['postgres://u:s3cret@/x', 'is not an address'],
    ['postgres://u:s3cret@one,two/x', 'is not an address'],
    ['postgres://db.example/x', 'has no user'],
    ['postgres://u:s3cret@db.example', 'has no database'],
    ['postgres://u:s3cret%@db.example/x', 'has a % that does not begin an encoded character'],
    ['postgres://u:s3cret@db.example/x?sslmode=prefer', 'has an unsupported sslmode: use disable, require'],
    ['postgres://u:s3cret@db.example/x?options=s3cret', 'has the unsupported parameter options'],
  ] as const)
    t.throws(
      () => describePostgresUrl(url),
      {
        code: 'ERR_POSTGRES_URL',
        exitCode: 3,
        message: new RegExp(`^postgres\\.url \\(SCOPEGATE_POSTGRES__URL\\) ${problem}(?!.*s3cret)`),
      },
      problem,
    )
})

t.test('openStore() rejects postgres without a URL', async (t) => {
  const config = {
    ...TOKEN_CONFIG,
    store: { type: 'postgres' },
    dataDir: '/nowhere',
    redis: undefined,
  } as const
  await t.rejects(openStore(config, options), { code: 'ERR_POSTGRES_URL', exitCode: 3 })
})

t.test('a wrong address, password or database causes a start failure that names the setting', async (t) => {
  const unused = await quietPort()
  await fails(
    t,
    at(`postgres://scopegate:s3cret@127.0.0.1:${unused}/scopegate`),
    'ERR_POSTGRES_UNREACHABLE',
    new RegExp(
      `^PostgreSQL at postgres://127.0.0.1:${unused}/scopegate cannot be reached .*ECONNREFUSED.*postgres\\.url`,
    ),
  )
  for (const user of ['scopegate:s3cret', 'unknown:s3cret', 'scopegate'])
    await fails(
      t,
      at(`postgres://${user}@${plain}`),
      'ERR_POSTGRES_REFUSED',
      /postgres\.url and postgres\.passwordFile/,
    )
  await fails(
    t,
    at(`postgres://scopegate:right@127.0.0.1:${server.port}/unknown`),
    'ERR_POSTGRES_DATABASE',
    /database "unknown" does not exist.*postgres\.url/,
  )
})

t.test('a server that accepts connections and never responds causes a start failure', async (t) => {
  const way = await startFaultProxy(server.port)
  t.teardown(() => way.close())
  way.toClient({ blackHole: true })
  const pool = { ...POOL, connectTimeoutMs: 1_000 }
  const url = `postgres://scopegate:right@127.0.0.1:${way.port}/scopegate`
  await fails(t, at(url, { pool }), 'ERR_POSTGRES_UNREACHABLE', /cannot be reached/)
})

t.test('the password file applies to each new connection', async (t) => {
  const passwordFile = join(t.testdir(), 'password')
  const url = `postgres://scopegate@${plain}`
  await fails(t, at(url, { passwordFile }), 'ERR_SECRET_FILE', /password \(postgres\.passwordFile\): ENOENT/)
  writeFileSync(passwordFile, 's3cret\n')
  await fails(t, at(url, { passwordFile }), 'ERR_POSTGRES_REFUSED', /postgres\.passwordFile/)
  writeFileSync(passwordFile, 'right\n')
  const store = await open(t, at(url, { passwordFile }))
  await server.query("alter role scopegate password 'changed'")
  t.teardown(() => server.query("alter role scopegate password 'right'"))
  writeFileSync(passwordFile, 'changed\r\n')
  await server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'scopegate'")
  await until('a new connection', async () => store.probe().catch(() => undefined))
  for (const makeUnusable of [() => writeFileSync(passwordFile, ''), () => rmSync(passwordFile)]) {
    makeUnusable()
    await server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'scopegate'")
    await until('a connection with the last password', async () => store.probe().catch(() => undefined))
  }
})

t.test('a connection that cannot authenticate is closed', async (t) => {
  const way = await startFaultProxy(server.port)
  t.teardown(() => way.close())
  const pool = await openPostgresPool(at(`postgres://scopegate@127.0.0.1:${way.port}/scopegate`))
  t.teardown(() => pool.close())
  await t.rejects(pool.query({ text: 'select 1' }), { message: /SASL/ })
  await t.rejects(pool.connect({ statementMs: 1_000 }), { message: /SASL/ })
  t.equal(way.connections, 2)
  await until('the connections are closed', async () => way.open === 0, 20_000)
})

t.test(
  'a session starts without parameters that a pooler rejects, and has time limits for statements and locks',
  async (t) => {
    const names = new Set<string>()
    const pooler = createServer((socket) => {
      socket.once('data', (message) => {
        // The message begins with the length and the version. Pairs of name and value follow. A zero byte ends each
        // name and each value.
        const texts = message.subarray(8).toString().split('\0')
        for (let at = 0; at < texts.length - 2; at += 2) names.add(String(texts[at]))
        socket.destroy()
      })
    })
    pooler.listen(0, '127.0.0.1')
    await once(pooler, 'listening')
    t.teardown(() => pooler.close())
    const { port } = pooler.address() as AddressInfo
    await t.rejects(openPostgresStore(at(`postgres://scopegate@127.0.0.1:${port}/scopegate`), options))
    t.strictSame([...names].sort(), ['application_name', 'client_encoding', 'database', 'user'])

    const pool = await openPostgresPool(
      at(`postgres://scopegate:right@${plain}`, { pool: { ...POOL, statementTimeoutMs: 2_000 } }),
    )
    t.teardown(() => pool.close())
    const client = await pool.connect({ statementMs: 8_000 })
    t.teardown(() => client.end())
    const show = async (session: Pick<typeof pool, 'query'>, name: string) =>
      (await session.query<Record<string, string>>({ text: `show ${name}` })).rows[0]?.[name]
    for (const [session, statement, lock] of [
      [pool, '2s', '1500ms'],
      [client, '8s', '6s'],
    ] as const) {
      t.equal(await show(session, 'statement_timeout'), statement)
      t.equal(await show(session, 'lock_timeout'), lock)
    }
  },
)

t.test('TLS verifies the certificate and the host name', async (t) => {
  const folder = t.testdir({
    'ca.pem': authority.cert,
    'other.pem': aCertificate({ authority: true }).cert,
    'empty.pem': 'no certificate',
  })
  const url = `postgres://scopegate:right@${plain}`
  const caFile = join(folder, 'ca.pem')
  const store = await open(t, at(url, { caFile }))
  await store.probe()
  const [session] = await server.query(
    "select ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'scopegate' limit 1",
  )
  t.same(session, { ssl: true })
  for (const [more, message] of [
    [{ caFile: join(folder, 'other.pem') }, /certificate that is not valid \(.*postgres\.caFile/],
    [{ caFile: join(folder, 'empty.pem') }, /empty\.pem \(postgres\.caFile\) contains no PEM certificate/],
    [{ url: `${url}?sslmode=verify-full` }, /certificate that is not valid/],
    [{ url: `${url}?sslmode=require` }, /certificate that is not valid/],
  ] as const)
    await fails(t, at(url, more), 'ERR_POSTGRES_TLS', message)
  await fails(
    t,
    at(url, { caFile: join(folder, 'absent.pem') }),
    'ERR_SECRET_FILE',
    /\(postgres\.caFile\): ENOENT/,
  )
  await fails(
    t,
    at(`${url}?sslmode=disable`, { caFile }),
    'ERR_POSTGRES_URL',
    /sslmode=disable, but postgres\.caFile/,
  )
})

t.test('a changed CA file applies to new connections', async (t) => {
  const folder = t.testdir({ 'ca.pem': authority.cert })
  const caFile = join(folder, 'ca.pem')
  const store = await open(t, at(`postgres://scopegate:right@${plain}`, { caFile }))
  const reconnect = () =>
    server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'scopegate'")
  const isRejected = () =>
    store.probe().then(
      () => false,
      (error: Error) => /certificate/.test(String(error.cause)),
    )
  writeFileSync(caFile, aCertificate({ authority: true }).cert)
  await reconnect()
  await until('the new CA applies', isRejected)
  writeFileSync(caFile, 'half a file')
  t.equal(await isRejected(), true, 'the last readable content applies')
  writeFileSync(caFile, authority.cert)
  await store.probe()
})

t.test(
  'a client certificate authenticates the server, and a changed file applies to new connections',
  async (t) => {
    const clients = aCertificate({ authority: true })
    const other = await startPostgres({ tls: aCertificate({ by: authority }), clientAuthority: clients.cert })
    t.teardown(() => other.remove())
    const client = aCertificate({ by: clients, commonName: 'scopegate' })
    const stranger = aCertificate({ by: aCertificate({ authority: true }), commonName: 'scopegate' })
    const folder = t.testdir({
      ...{ 'ca.pem': authority.cert, 'client.crt': client.cert, 'client.key': client.key },
      ...{ 'other.crt': stranger.cert, 'other.key': stranger.key, 'empty.pem': 'no certificate' },
    })
    const [caFile, certFile, keyFile] = ['ca.pem', 'client.crt', 'client.key'].map((name) =>
      join(folder, name),
    )
    const connection = { ...other.connection, caFile, certFile, keyFile }
    const store = await open(t, connection)
    await store.probe()
    const [session] = await other.query(
      "select client_dn from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'scopegate' limit 1",
    )
    t.same(session, { client_dn: '/CN=scopegate' })
    const reconnect = () =>
      other.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'scopegate'")
    const isRejected = () =>
      store.probe().then(
        () => false,
        () => true,
      )
    writeFileSync(keyFile ?? '', 'half a file')
    await reconnect()
    await until('the last usable files apply', async () => !(await isRejected()))
    writeFileSync(keyFile ?? '', stranger.key)
    writeFileSync(certFile ?? '', stranger.cert)
    await reconnect()
    await until('the new certificate applies', isRejected)

    for (const [more, code, message] of [
      [
        { certFile: undefined, keyFile: undefined },
        'ERR_POSTGRES_REFUSED',
        /client certificate.*postgres\.certFile/,
      ],
      [{}, 'ERR_POSTGRES_TLS', /rejected the client certificate \(.*postgres\.certFile/],
      [
        { certFile: join(folder, 'empty.pem') },
        'ERR_POSTGRES_TLS',
        /not usable.*empty\.pem \(postgres\.certFile/,
      ],
      [{ keyFile: join(folder, 'client.crt') }, 'ERR_POSTGRES_TLS', /not usable.*\(postgres\.keyFile/],
      [{ keyFile: join(folder, 'absent.pem') }, 'ERR_SECRET_FILE', /\(postgres\.keyFile\): ENOENT/],
      [
        { url: `${other.url}?sslmode=disable`, caFile: undefined },
        'ERR_POSTGRES_URL',
        /sslmode=disable, but postgres\.certFile/,
      ],
    ] as const)
      await fails(t, { ...connection, ...more }, code, message)
  },
)

t.test('a server that requires TLS causes a start failure when TLS is not configured', async (t) => {
  const other = await startPostgres({ tls: aCertificate({ by: authority }), tlsOnly: true })
  t.teardown(() => other.remove())
  await fails(t, other.connection, 'ERR_POSTGRES_TLS', /with TLS only.*postgres\.caFile.*sslmode=verify-full/)
})

t.test(
  'an expired certificate or CA, a wrong name or a server without TLS causes a start failure',
  async (t) => {
    const expired = { untilMs: Date.now() - 1_000 }
    const expiredAuthority = aCertificate({ authority: true, ...expired })
    const folder = t.testdir({ 'ca.pem': authority.cert, 'expired.pem': expiredAuthority.cert })
    for (const [tls, file, message] of [
      [aCertificate({ by: authority, ...expired }), 'ca.pem', /CERT_HAS_EXPIRED.*postgres\.caFile/],
      [aCertificate({ by: expiredAuthority }), 'expired.pem', /CERT_HAS_EXPIRED.*postgres\.caFile/],
      [aCertificate({ by: authority, names: ['db.example'] }), 'ca.pem', /ERR_TLS_CERT_ALTNAME_INVALID/],
      [undefined, 'ca.pem', /does not support TLS.*ssl = on/],
    ] as const) {
      const other = await startPostgres(tls === undefined ? {} : { tls })
      t.teardown(() => other.remove())
      await fails(t, { ...other.connection, caFile: join(folder, file) }, 'ERR_POSTGRES_TLS', message)
    }
  },
)

t.test('a read-only database or a server without free connections causes a start failure', async (t) => {
  const other = await startPostgres({
    settings: { max_connections: '5', superuser_reserved_connections: '2' },
  })
  t.teardown(() => other.remove())
  const store = await open(t, { ...other.connection, pool: { ...POOL, max: 1 } })
  await store.probe()
  const others = [await other.connect('scopegate'), await other.connect('scopegate')]
  await fails(t, other.connection, 'ERR_POSTGRES_UNREACHABLE', /remaining connection slots|too many/)
  await store.probe() // the existing connection of the store still works
  for (const client of others) await client.end()
  await other.query('alter database scopegate set default_transaction_read_only = on')
  await until('the connections are free', async () =>
    openPostgresStore(other.connection, options).then(
      async (one) => void (await one.close()),
      (error: unknown) => (error as { code?: string }).code === 'ERR_POSTGRES_READ_ONLY',
    ),
  )
})
