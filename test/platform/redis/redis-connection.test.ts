import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { findConnectionFaults, findFileFaults } from '../../../platform/redis/check-connection.ts'
import { openRedis } from '../../../platform/redis/redis.ts'
import type { RedisConnection } from '../../../platform/redis/redis-connection.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { writeTlsFiles } from '../../fixtures/redis-tls.ts'
import { startRedis } from '../../fixtures/start-redis.ts'
import { until } from '../../fixtures/until.ts'

const PASSWORD = 'first-s3cret'

/** Starts a Redis that requires a client certificate and a password of an ACL user. */
async function startSecured(t: Test) {
  const folder = t.testdir({ redis: {}, tls: {} })
  const tls = writeTlsFiles(join(folder, 'tls'))
  const port = await quietPort()
  const plain = await startRedis({
    folder: join(folder, 'redis'),
    args: ['--tls-port', String(port), ...tls.serverArgs],
  })
  const admin = new Redis(plain.url)
  t.teardown(async () => {
    admin.disconnect()
    await plain.stop()
  })
  await admin.call(
    'ACL',
    'SETUSER',
    'scopegate',
    'on',
    `>${PASSWORD}`,
    '~{scopegate*',
    '~scopegate:*',
    '+@all',
  )
  await admin.call('ACL', 'SETUSER', 'default', '-@all', '+ping')
  const keeper = new Redis(plain.url, { username: 'scopegate', password: PASSWORD })
  t.teardown(() => keeper.disconnect())
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, `${PASSWORD}\n`)
  const connection: RedisConnection = {
    url: `rediss://127.0.0.1:${port}`,
    username: 'scopegate',
    passwordFile,
    tls: { caFile: tls.caFile, certFile: tls.clientCertFile, keyFile: tls.clientKeyFile },
  }
  return { folder, tls, port, connection, passwordFile, admin: keeper, where: `rediss://127.0.0.1:${port}` }
}

t.test(
  'connects with a private CA, a client certificate and an ACL user, and reads a changed password',
  async (t) => {
    const { connection, passwordFile, admin } = await startSecured(t)
    const redis = await openRedis({ ...connection, mayBeAway: true })
    t.teardown(() => redis.disconnect())
    t.equal(await redis.set('{scopegate}:a', '1'), 'OK')
    await admin.call('ACL', 'SETUSER', 'scopegate', 'resetpass', '>second-s3cret')
    writeFileSync(passwordFile, 'second-s3cret\n')
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await until(
      'connected again',
      async () => (await redis.get('{scopegate}:a').catch(() => undefined)) === '1',
    )
    t.equal(redis.status, 'ready')
  },
)

t.test(
  'the error for failed TLS or wrong credentials names the setting, and contains no secret',
  async (t) => {
    const { folder, tls, port, connection, where } = await startSecured(t)
    const other = writeTlsFiles(join(folder, 'other'))
    const wrong = join(folder, 'wrong')
    writeFileSync(wrong, 'wr0ng-s3cret\n')
    for (const [change, code, message] of [
      [
        { tls: { ...connection.tls, caFile: other.caFile } },
        'ERR_REDIS_TLS',
        /Set redis\.tls\.caFile to the CA/,
      ],
      [{ tls: { caFile: tls.caFile } }, /ERR_REDIS_(TLS|UNREACHABLE)/, /redis\.tls/],
      [
        { passwordFile: wrong },
        'ERR_REDIS_REFUSED',
        `Redis at ${where} denied access (WRONGPASS). Check redis.username and redis.passwordFile.`,
      ],
      [
        { passwordFile: join(folder, 'absent') },
        'ERR_REDIS_FILE',
        /redis\.passwordFile: the file cannot be read \(ENOENT\)/,
      ],
      [
        { url: `rediss://127.0.0.1:${await quietPort()}` },
        'ERR_REDIS_UNREACHABLE',
        /correct redis\.url \(REDIS_URL\)/,
      ],
    ] as const) {
      const error = await openRedis({ ...connection, ...change }).catch((error: unknown) => error)
      t.match(error, { name: 'BootError', code, message })
      t.notMatch(String((error as Error).message), /s3cret/)
    }
    for (const mayBeAway of [true, false])
      await t.rejects(
        openRedis({ ...connection, tls: { caFile: other.caFile }, setting: 'revocationRedis', mayBeAway }),
        { code: 'ERR_REDIS_TLS', message: /revocationRedis\.tls/ },
        'a wrong CA is an error also where Redis is optional',
      )
    t.ok(port > 0)
  },
)

for (const [what, options] of [
  ['certificate', { untilMs: Date.now() - 60_000 }],
  ['CA', { authorityUntilMs: Date.now() - 60_000 }],
] as const)
  t.test(
    `an expired ${what} of Redis stops the server, or causes only a warning if Redis is optional`,
    async (t) => {
      const folder = t.testdir({ redis: {} })
      const tls = writeTlsFiles(join(folder, 'tls'), options)
      const port = await quietPort()
      const server = await startRedis({
        folder: join(folder, 'redis'),
        args: ['--tls-port', String(port), ...tls.serverArgs],
      })
      t.teardown(() => server.stop())
      const connection = {
        url: `rediss://127.0.0.1:${port}`,
        tls: { caFile: tls.caFile, certFile: tls.clientCertFile, keyFile: tls.clientKeyFile },
      }
      const message = `TLS to Redis at rediss://127.0.0.1:${port} failed (CERT_HAS_EXPIRED). Renew the certificate of Redis or its CA (redis.tls.caFile).`
      await t.rejects(openRedis(connection), { code: 'ERR_REDIS_TLS', message })
      const lines: unknown[] = []
      const logger = { warn: (...line: unknown[]) => void lines.push(line), info: () => undefined }
      const redis = await openRedis({ ...connection, mayBeAway: true, logger })
      redis.disconnect()
      t.match(lines, [[{ event: 'redis_unreachable', code: 'ERR_REDIS_TLS' }, message]])
    },
  )

t.test('the error for contradictory settings or an unusable file names the setting', async (t) => {
  const folder = t.testdir({ empty: '\nsecond line', junk: 'junk' })
  const at = (name: string) => join(folder, name)
  const tls = writeTlsFiles(at('tls'))
  const url = 'rediss://db:6379'
  const sentinel = { name: 'main', addresses: ['a:1'] }
  for (const [connection, ...messages] of [
    [{ url }],
    [{ sentinel }],
    [{ url, tls: { caFile: tls.caFile, certFile: tls.clientCertFile, keyFile: tls.clientKeyFile } }],
    [{}, 'redis: set exactly one of url, sentinel and cluster'],
    [{ url, cluster: { addresses: ['a:1'] } }, 'redis: set exactly one of url, sentinel and cluster'],
    [{ url: 'redis://db', tls: {} }, 'redis.tls: has no effect on a redis:// address'],
    [
      { url: 'redis://u:p@db', username: 'u', passwordFile: tls.caFile },
      'redis.passwordFile: redis.url contains a password too',
      'redis.username: redis.url contains a user too',
    ],
    [{ url, tls: { certFile: tls.certFile } }, 'redis.tls: set both certFile and keyFile, or neither'],
    [{ url, passwordFile: at('absent') }, 'redis.passwordFile: the file cannot be read (ENOENT)'],
    [{ url, passwordFile: at('empty') }, 'redis.passwordFile: the first line of the file is empty'],
    [
      { sentinel: { ...sentinel, passwordFile: at('absent') } },
      'redis.sentinel.passwordFile: the file cannot be read (ENOENT)',
    ],
    [{ url, tls: { caFile: at('absent') } }, 'redis.tls.caFile: the file cannot be read (ENOENT)'],
    [{ url, tls: { caFile: at('junk') } }, 'redis.tls.caFile: the file has no usable PEM certificate'],
    [
      { url, tls: { certFile: tls.clientCertFile, keyFile: tls.keyFile } },
      'redis.tls: the client certificate is not usable (ERR_OSSL_X509_KEY_VALUES_MISMATCH)',
    ],
    [
      { url, tls: { certFile: at('absent'), keyFile: tls.keyFile } },
      'redis.tls.certFile: the file cannot be read (ENOENT)',
    ],
  ] as const)
    t.strictSame(
      [...findConnectionFaults(connection, 'redis'), ...findFileFaults(connection, 'redis')].map(
        ({ message }) => message,
      ),
      messages,
    )
})
