import t from 'tap'
import { attemptRedis } from '../../../authorization-server/store/redis.ts'
import { attemptSqlite } from '../../../authorization-server/store/sqlite.ts'
import { StoreError } from '../../../authorization-server/store/store.ts'

/** The Redis client creates errors with this name for error replies. */
const aReplyError = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })

t.test('StoreError has a name, a code, a reason and a cause', async (t) => {
  const cause = new Error('cause')
  const read = (error: StoreError) => [error.name, error.message, error.code, error.reason, error.cause]
  t.strictSame(read(new StoreError('ERR_STORE_UNAVAILABLE', 'text', { cause, reason: 'away' })), [
    'StoreError',
    'text',
    'ERR_STORE_UNAVAILABLE',
    'away',
    cause,
  ])
  const without = new StoreError('ERR_STORE_UNAVAILABLE', 'text')
  t.equal(without.reason, 'failed')
  t.notOk('cause' in without)
  t.equal(new StoreError('ERR_STORE_DAMAGED', 'text').reason, 'damaged')
})

t.test('attemptRedis() classifies each failure', async (t) => {
  t.equal(await attemptRedis(async () => 'result'), 'result')
  for (const [cause, reason] of [
    [new Error('READONLY in a connection error'), 'away'],
    [aReplyError("READONLY You can't write against a read only replica."), 'read_only'],
    [aReplyError('ERR Error running script: -READONLY You cannot'), 'read_only'],
    [aReplyError("OOM command not allowed when used memory > 'maxmemory'."), 'full'],
    [aReplyError('ERR Error running script: -OOM command not allowed'), 'full'],
    [aReplyError('WRONGTYPE Operation against a key'), 'failed'],
  ] as const) {
    const failure = attemptRedis(() => Promise.reject(cause))
    await t.rejects(failure, {
      name: 'StoreError',
      code: 'ERR_STORE_UNAVAILABLE',
      message: 'The Redis store failed.',
      reason,
      cause,
    })
  }
})

t.test('attemptSqlite() classifies each result code, also extended result codes', async (t) => {
  t.equal(
    attemptSqlite(() => 'result'),
    'result',
  )
  for (const [errcode, reason] of [
    [5, 'locked'],
    [261, 'locked'], // SQLITE_BUSY_RECOVERY
    [6, 'locked'],
    [8, 'read_only'],
    [1544, 'read_only'], // SQLITE_READONLY_DIRECTORY
    [11, 'damaged'],
    [13, 'full'],
    [26, 'damaged'],
    [1, 'failed'],
    [10, 'failed'],
    [undefined, 'failed'],
  ] as const) {
    const cause = Object.assign(new Error('of SQLite'), errcode === undefined ? {} : { errcode })
    const fails = () => {
      throw cause
    }
    t.throws(() => attemptSqlite(fails), {
      name: 'StoreError',
      code: reason === 'damaged' ? 'ERR_STORE_DAMAGED' : 'ERR_STORE_UNAVAILABLE',
      message: 'The SQLite store failed.',
      reason,
      cause,
    })
  }
})
