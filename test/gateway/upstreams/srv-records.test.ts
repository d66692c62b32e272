import type { SrvRecord } from 'node:dns'
import t, { type Test } from 'tap'
import { SrvRecords, type SrvTarget, toSrvTargets } from '../../../gateway/upstreams/srv-records.ts'
import { systemSrvRecords } from '../../../platform/net/resolve-srv.ts'
import { type NameServer, startNameServer } from '../../fixtures/name-server.ts'
import { until } from '../../fixtures/until.ts'

const record = (name: string, port: number, priority = 0, weight = 0): SrvRecord => ({
  name,
  port,
  priority,
  weight,
})
const A = record('a.test', 8_080)
const B = record('b.test', 8_080)

async function start(t: Test, names: NameServer, resolve = names.resolveSrv) {
  const changes: (readonly string[])[] = []
  const problems: unknown[] = []
  const results: string[] = []
  const records = new SrvRecords({
    url: 'http://_http._tcp.api.test/base',
    resolve,
    everyMs: 1,
    onLookup: (result) => void results.push(result),
    onChange: (targets) => void changes.push(targets.map(({ origin }) => origin)),
    onProblem: (error) => void problems.push(error),
  })
  t.teardown(() => records.close())
  await records.first
  const lookedUp = async (result: string, count: number): Promise<void> => {
    const wanted = results.filter((one) => one === result).length + count
    await until(
      `${count} lookups: ${result}`,
      async () => results.filter((one) => one === result).length >= wanted,
    )
  }
  return { records, changes, problems, lookedUp }
}

async function aNameServer(t: Test): Promise<NameServer> {
  const names = await startNameServer()
  t.teardown(() => names.close())
  return names
}

t.test('targets have the order of their priorities, and invalid records are ignored', async (t) => {
  const targets = (records: readonly SrvRecord[]): readonly SrvTarget[] => toSrvTargets(records, 'https:')
  t.same(targets([record('B.test.', 443, 2, 7), record('a.test', 8_443, 1), record('a.test', 8_443, 3)]), [
    { origin: 'https://a.test:8443', priority: 1, weight: 0 },
    { origin: 'https://b.test', priority: 2, weight: 7 },
  ])
  const repeated = [record('a.test', 8_080, 0, 9), record('a.test', 8_080, 0, 1)]
  t.same(targets(repeated), targets(repeated.toReversed()), 'the order of the response does not matter')
  for (const name of [
    '10.0.0.1',
    '0x7f.1',
    '2130706433',
    'a..test',
    'a b',
    'a/b',
    'a@b',
    'ä.test',
    `${'a'.repeat(254)}`,
  ])
    t.throws(() => targets([record(name, 80)]), { code: 'ENODATA' }, name)
  t.throws(() => targets([record('a.test', 0)]), { code: 'ENODATA' })
  t.throws(() => targets([]), { code: 'ENODATA' })
  t.same(targets([record('.', 80)]), [])
  t.same(targets([record('', 80)]), [])
  t.equal(targets([record('', 80), A]).length, 1)
  t.equal(targets(Array.from({ length: 200 }, (_, index) => record(`a${index}.test`, 80))).length, 64)
})

t.test('changed records replace the targets, and equal records change nothing', async (t) => {
  const names = await aNameServer(t)
  names.knowsSrv([A, B])
  const { records, changes, lookedUp } = await start(t, names)
  t.same(changes, [['http://a.test:8080', 'http://b.test:8080']])
  names.knowsSrv([B, A])
  await lookedUp('ok', 3)
  t.equal(changes.length, 1, 'the order of records has no meaning')
  names.knowsSrv([B])
  await until('the change arrives', async () => changes.length === 2)
  t.same(changes[1], ['http://b.test:8080'])
  names.knowsSrv([record('.', 0)])
  await until('the targets end', async () => changes.length === 3)
  t.same(changes[2], [])
  t.match(records.problem, /_http\._tcp\.api\.test has only the target "\."/)
})

t.test('failed lookups and empty responses keep the targets', async (t) => {
  const names = await aNameServer(t)
  names.knowsSrv([A])
  const { records, changes, problems, lookedUp } = await start(t, names)
  t.equal(records.problem, undefined)
  names.knowsSrv(undefined)
  await lookedUp('failed', 2)
  t.match(records.problem, /^the lookup of _http\._tcp\.api\.test failed \(ESERVFAIL\)$/)
  names.knowsSrv([])
  await lookedUp('failed', 2)
  t.match(records.problem, /ENODATA/)
  t.equal(problems.length, 1, 'the problem is reported once')
  names.knowsSrv([A])
  await until('the lookups succeed', async () => records.problem === undefined)
  t.equal(problems.length, 2)
  t.equal(problems[1], undefined)
  t.equal(changes.length, 1)
})

t.test('one lookup runs at a time, and none after close()', async (t) => {
  const names = await aNameServer(t)
  names.knowsSrv([A])
  let lookups = 0
  const pending = new SrvRecords({
    url: 'http://_http._tcp.api.test',
    resolve: (_name, signal) => {
      lookups += 1
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
    },
    everyMs: 1,
    onLookup: () => t.fail('the lookup ended'),
    onChange: () => t.fail('the targets changed'),
    onProblem: () => t.fail('a problem is reported'),
  })
  const { records, lookedUp } = await start(t, names)
  await lookedUp('ok', 3)
  t.equal(lookups, 1)
  pending.close()
  await pending.first
  records.close()
  const before = names.questions
  const probe = async (): Promise<unknown> => names.resolveSrv('x.test', AbortSignal.timeout(60_000))
  for (let i = 0; i < 20; i++) await probe()
  t.ok(names.questions - before <= 21, 'at most one question was on its way')
  t.equal(lookups, 1)
})

t.test('the end of the signal ends a lookup with the name servers of the system', async (t) => {
  const end = new AbortController()
  const lookup = systemSrvRecords('_http._tcp.scopegate.invalid', end.signal)
  end.abort()
  await t.rejects(lookup)
})
