import { Redis } from 'ioredis'
import t from 'tap'
import {
  awaitEntriesAfter,
  hasEntry,
  readEntriesAfter,
  readLastId,
  readRunId,
  STREAM_START,
} from '../../../platform/redis/read-redis-revocations.ts'
import { REVOCATION_STREAM } from '../../../platform/redis/revocation-keys.ts'
import { startRedis } from '../../fixtures/start-redis.ts'

t.test('the stream is read by position, in order, and invalid entries have no revocation', async (t) => {
  const server = await startRedis({ folder: t.testdir() })
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.stop()
  })
  t.equal(STREAM_START, '0-0')
  t.equal(await readLastId(redis), '0-0')
  t.equal(await hasEntry(redis, '1-1'), false)
  t.strictSame(await readEntriesAfter(redis, STREAM_START, 10), [])
  t.strictSame(await awaitEntriesAfter(redis, STREAM_START, { count: 10, waitMs: 1 }), [])

  const add = (id: string, ...fields: string[]) => redis.xadd(REVOCATION_STREAM, id, ...fields)
  await add('1-1', 'r', '{"grant":"a"}')
  await add('1-2', 'x', 'r')
  await add('2-0', 'x', 'y', 'r', '{"iss":"https://a.test","subject":"s","at":5,"exp":9}')
  await add('3-0', 'r', 'junk')
  await add('4-0', 'y', 'z')
  const none = {
    issuer: undefined,
    grant: undefined,
    token: undefined,
    subject: undefined,
    atSeconds: undefined,
    expiresAtSeconds: undefined,
  }
  const all = [
    { id: '1-1', revocation: { ...none, grant: 'a' } },
    { id: '1-2', revocation: undefined },
    {
      id: '2-0',
      revocation: { ...none, issuer: 'https://a.test', subject: 's', atSeconds: 5, expiresAtSeconds: 9 },
    },
    { id: '3-0', revocation: undefined },
    { id: '4-0', revocation: undefined },
  ]
  t.equal(await readLastId(redis), '4-0')
  t.strictSame(
    await Promise.all(['1-1', '2-0', '4-0', '1-0', '1-3', '5-0'].map((id) => hasEntry(redis, id))),
    [true, true, true, false, false, false],
  )
  t.strictSame(await readEntriesAfter(redis, STREAM_START, 10), all)
  t.strictSame(await readEntriesAfter(redis, '1-1', 2), all.slice(1, 3))
  t.strictSame(await readEntriesAfter(redis, '4-0', 10), [])
  t.strictSame(await awaitEntriesAfter(redis, STREAM_START, { count: 3, waitMs: 1 }), all.slice(0, 3))
  t.strictSame(await awaitEntriesAfter(redis, '3-0', { count: 3, waitMs: 1 }), all.slice(4))

  const runId = /run_id:(\w+)/.exec(await redis.info('server'))?.[1]
  t.match(runId, /^[0-9a-f]{40}$/)
  t.equal(await readRunId(redis), runId)
  await redis.call('ACL', 'SETUSER', 'default', '-info')
  t.equal(await readRunId(redis), undefined)
  redis.disconnect()
  await t.rejects(readRunId(redis), { message: 'Connection is closed.' })
})
