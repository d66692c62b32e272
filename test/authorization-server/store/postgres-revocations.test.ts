import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashId } from '../../../authorization-server/store/artifact-record.ts'
import { openPostgresStore } from '../../../authorization-server/store/postgres-store.ts'
import type { Store } from '../../../authorization-server/store/store.ts'
import { runPostgresTool, startPostgres, type TestPostgres } from '../../fixtures/postgres.ts'
import { documentedBlock } from '../../fixtures/repository-texts.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'
import { until } from '../../fixtures/until.ts'

const server = await startPostgres()
t.teardown(() => server.remove())

type Follower = {
  readonly store: Store
  /** Received events: the hash of a revoked grant, `gap` or `lost`. `next()` removes the events that it returns. */
  readonly received: string[]
  readonly lines: unknown[]
}

/** Opens a store, and collects the events of its revocation log. */
async function follow(t: Test, on: TestPostgres = server): Promise<Follower> {
  const lines: unknown[] = []
  const write = (...line: unknown[]) => void lines.push(line)
  const store = await openPostgresStore(on.connection, {
    ...TOKEN_SETTINGS,
    nowSeconds: () => Math.floor(Date.now() / 1_000),
    logger: { warn: write, info: write },
  })
  t.teardown(() => store.close())
  const received: string[] = []
  await store.revocations.follow({
    revoked: (logged) => void received.push(...logged.map(({ revocation }) => String(revocation.grant))),
    gap: () => void received.push('gap'),
    lost: () => void received.push('lost'),
  })
  return { store, received, lines }
}

const next = (follower: Follower, count = 1) =>
  until('the follower receives', async () => follower.received.length >= count && follower.received.splice(0))

async function revoke(store: Store, grantId: string): Promise<void> {
  await store.artifacts('AccessToken').upsert(`of ${grantId}`, { jti: `of ${grantId}`, grantId }, 900)
  await store.artifacts('Grant').revokeByGrantId(grantId)
}

const entryOf = (grant: string) => JSON.stringify({ iss: TOKEN_SETTINGS.issuer, grant: hashId(grant), at: 1 })
t.test('an entry becomes visible only after all earlier entries', async (t) => {
  const follower = await follow(t)
  const slow = await server.connect()
  t.teardown(() => slow.end())
  const from = await follower.store.revocations.lastId()
  await slow.query('begin')
  await slow.query('select scopegate.log_revocation($1)', [entryOf('slow')])
  await follower.store.artifacts('AccessToken').upsert('quick', { jti: 'quick', grantId: 'quick' }, 900)
  const quick = follower.store.artifacts('Grant').revokeByGrantId('quick')
  await until('the second revocation waits', async () => {
    const [row] = await server.query("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
    return row?.['count'] === '1'
  })
  t.same(await follower.store.revocations.readAfter(from, 10), [])
  t.same(follower.received, [])
  await slow.query('commit')
  await quick
  t.same(await next(follower, 2), [hashId('slow'), hashId('quick')])
  t.equal((await follower.store.revocations.readAfter(from, 10))?.length, 2)
})

t.test('a revocation also removes the tokens of a refresh that is in progress', async (t) => {
  const { store } = await follow(t)
  const refresh = await server.connect()
  t.teardown(() => refresh.end())
  await store.artifacts('RefreshToken').upsert('used', { jti: 'used', grantId: 'busy' }, 900)
  await refresh.query('begin')
  await refresh.query('update scopegate.artifacts set consumed_at = 1 where grant_id = $1', [hashId('busy')])
  await refresh.query(
    "insert into scopegate.artifacts (model, id, payload, grant_id) values ('AccessToken', $1, '{}', $2)",
    [hashId('successor'), hashId('busy')],
  )
  const revoked = store.artifacts('Grant').revokeByGrantId('busy')
  await until('the revocation waits', async () => {
    const [row] = await server.query("select count(*) from pg_stat_activity where wait_event_type = 'Lock'")
    return row?.['count'] === '1'
  })
  await refresh.query('commit')
  await revoked
  t.equal(await store.artifacts('AccessToken').find('successor'), undefined)
})

t.test('a follower receives an entry although its notification is lost', async (t) => {
  const follower = await follow(t)
  await server.query(
    `with log as (update scopegate.revocation_log set position = position + 1 returning position)
      insert into scopegate.revocations (position, payload) select position, '${entryOf('silent')}' from log`,
  )
  t.same(await next(follower), [hashId('silent')])
})

t.test('a follower that loses its connection reconnects and receives each entry once', async (t) => {
  const follower = await follow(t)
  const other = await follow(t)
  for (const grant of ['one', 'two', 'three']) {
    await server.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'scopegate' and pid <> pg_backend_pid()",
    )
    await until('a write', async () =>
      revoke(other.store, grant).then(
        () => true,
        () => false,
      ),
    )
    t.same(await next(follower), [hashId(grant)])
  }
  t.same(follower.received, [], 'neither a gap nor a loss')
})

t.test(
  'a follower reports the loss at each attempt, and continues after the restart without a gap',
  async (t) => {
    const own = await startPostgres()
    t.teardown(() => own.remove())
    const follower = await follow(t, own)
    let isLost = false
    await follower.store.revocations.follow({
      revoked: () => undefined,
      gap: () => undefined,
      lost: () => {
        isLost = true
      },
      restored: () => {
        isLost = false
      },
    })
    await own.stop()
    t.same([...new Set(await next(follower, 3))], ['lost'])
    t.equal(isLost, true)
    await own.start()
    await until('the end of the loss', async () => !isLost)
    await until('a write', async () =>
      revoke(follower.store, 'after').then(
        () => true,
        () => false,
      ),
    )
    await until('the entry', async () => follower.received.includes(hashId('after')))
    t.same(
      follower.received.filter((one) => one !== 'lost'),
      [hashId('after')],
    )
  },
)

t.test('a reader cannot resume after an unreadable, deleted or unknown entry', async (t) => {
  const follower = await follow(t)
  const { store } = follower
  await revoke(store, 'first')
  const first = await store.revocations.lastId()
  await server.query("select scopegate.log_revocation('junk')")
  t.same(await next(follower, 2), [hashId('first'), 'gap'])
  t.equal(await store.revocations.readAfter(first, 10), undefined)
  await revoke(store, 'second')
  t.same(await next(follower), [hashId('second')])
  const [epoch, position, digest] = first.split('.')
  for (const id of [
    `${epoch}.${Number(position) + 999}.${digest}`,
    `${'0'.repeat(32)}.${position}.${digest}`,
  ])
    t.equal(await store.revocations.readAfter(id, 10), undefined, id)
})

t.test('more than 1000 entries in one batch count as a revocation gap', async (t) => {
  const follower = await follow(t)
  await server.query(
    `do $$ begin for i in 1..1001 loop perform scopegate.log_revocation('${entryOf('many')}'); end loop; end $$`,
  )
  t.equal((await next(follower)).at(-1), 'gap')
  follower.received.length = 0
  await revoke(follower.store, 'next')
  t.same(await next(follower), [hashId('next')])
})

t.test(
  'sweep() deletes expired artifacts, and deletes revocations by age and number except the last revocation',
  async (t) => {
    const { store } = await follow(t)
    const count = async (table: string) =>
      Number((await server.query(`select count(*) from scopegate.${table}`))[0]?.['count'])
    await server.query('truncate scopegate.artifacts')
    await store.artifacts('AccessToken').upsert('kept', {}, 900)
    await server.query(`insert into scopegate.artifacts (model, id, payload, expires_at)
    select 'Session', i::text, '{}', now() - interval '1 second' from generate_series(1, 5001) i`)
    t.equal(await store.sweep(0), 5_001)
    t.equal(await count('artifacts'), 1)
    for (const grant of ['old', 'older', 'last']) await revoke(store, grant)
    const last = await store.revocations.lastId()
    const age = TOKEN_SETTINGS.accessTokenSeconds + 301
    await server.query('update scopegate.revocations set revoked_at = now() - make_interval(secs => $1)', [
      age,
    ])
    const expire = (from: number) =>
      server.query(
        `update scopegate.revocations set payload = regexp_replace(payload, '"exp":[0-9]+', '"exp":1')
           where position < (select max(position) from scopegate.revocations) - $1`,
        [from],
      )
    await expire(1)
    await store.sweep(0)
    t.equal(await count('revocations'), 2, 'an entry that expires later stays, although it is old')
    await expire(0)
    await store.sweep(0)
    t.equal(await count('revocations'), 1)
    t.equal(await store.revocations.lastId(), last)
    t.same(await store.revocations.readAfter(last, 10), [])
    await server.query(`insert into scopegate.revocations (position, payload)
    select position + i, '{}' from scopegate.revocation_log, generate_series(1, 100002) i`)
    await server.query('update scopegate.revocation_log set position = position + 100002')
    await store.sweep(0)
    t.equal(await count('revocations'), 100_000)
  },
)

t.test(
  'after the restore of a backup, a follower reports a gap, and the server publishes lost revocations again',
  async (t) => {
    const own = await startPostgres()
    t.teardown(() => own.remove())
    const follower = await follow(t, own)
    const { store } = follower
    const token = () => store.artifacts('AccessToken').find('of lost')
    await revoke(store, 'in the backup')
    const common = await store.revocations.lastId()
    await store.artifacts('AccessToken').upsert('of lost', { jti: 'of lost', grantId: 'lost' }, 900)
    await next(follower)

    const file = join(t.testdir(), 'grants.dump')
    runCommand(documentedBlock('docs/back-up-and-restore.md', 'pg_dump'), own, file)
    await store.artifacts('Grant').revokeByGrantId('lost')
    t.same(await next(follower), [hashId('lost')])
    const seen = await store.revocations.lastId()
    runCommand(documentedBlock('docs/back-up-and-restore.md', 'pg_restore'), own, file)

    const renewed = await until('the renewed revocation', async () =>
      follower.lines.find((line) => JSON.stringify(line).includes('revocations_renewed')),
    )
    t.match(renewed, [{ event: 'revocations_renewed', grants: 1 }])
    await until('the gap and the revocation', async () => follower.received.includes(hashId('lost')))
    t.ok(follower.received.includes('gap'))
    t.equal(await token(), undefined)
    t.equal((await store.revocations.readAfter(common, 10))?.length, 1)
    t.equal(await store.revocations.readAfter(seen, 10), undefined, 'the time of the renewed entry differs')
  },
)

function runCommand(command: string, on: TestPostgres, file: string): void {
  const [name = '', ...args] = command.trim().split(' ')
  runPostgresTool(
    name,
    args.map((arg) => arg.replaceAll('"', '').replace('$POSTGRES_URL', on.url).replace('grants.dump', file)),
  )
}
