import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf, whenServing } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

async function setLevel(managementUrl: string, level: string): Promise<void> {
  const response = await send(`${managementUrl}/log-level`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ level }),
  })
  if (response.status !== 200) throw new Error(response.text)
}

t.test('the gateway writes access lines only while the log level includes info', async (t) => {
  const { gateway, log } = await startGatewayUnderTest(t)
  const paths = () => log().flatMap((line) => (line['event'] === 'access' ? [line['url.path']] : []))
  for (const [level, path] of [
    ['warn', '/api/courses/warn'],
    ['info', '/api/courses/info'],
    ['silent', '/api/courses/silent'],
    ['debug', '/api/courses/debug'],
  ] as const) {
    await setLevel(gateway.managementUrl, level)
    await send(`${gateway.url}${path}`)
  }
  await until('the last access line', async () => paths().includes('/api/courses/debug'))
  t.strictSame(paths(), ['/api/courses/info', '/api/courses/debug'])
})

t.test('a change of the log level affects the supervisor, all workers, and new workers', async (t) => {
  const cleanup = createCleanup()
  const folder = join(t.testdir(), 'gateway')
  mkdirSync(folder)
  t.teardown(() => cleanup.run())
  const file = join(folder, 'log')
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: 'http://127.0.0.1:1',
    settings: { workers: 2 },
    stdout: openSync(file, 'a'),
  })
  const lines = (): readonly Readonly<Record<string, unknown>>[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  /** Sends requests to both workers, and returns the logged paths when both workers have no buffered lines. */
  const ask = (path: string) =>
    Promise.all(
      Array.from({ length: 8 }, () => send(`${gateway.url}${path}`, { headers: { connection: 'close' } })),
    )
  const logged = (path: string): number => lines().filter((line) => line['url.path'] === path).length

  await setLevel(gateway.managementUrl, 'fatal')
  await ask('/hidden')
  const [victim = 0] = childrenOf(gateway.process.pid)
  process.kill(victim, 'SIGKILL')
  await whenServing(gateway, { without: [victim], workers: 2 })
  await ask('/hidden')
  t.strictSame((await send(`${gateway.managementUrl}/log-level`)).json, {
    level: 'fatal',
    configuredLevel: 'info',
  })
  await setLevel(gateway.managementUrl, 'info')
  await ask('/shown')
  await until('each request has a line', async () => logged('/shown') === 8)
  t.equal(logged('/hidden'), 0)
  t.notOk(
    lines().some(({ event }) => event === 'worker_crashed'),
    'the level of the supervisor',
  )
  t.match(
    lines().filter(({ event }) => event === 'audit'),
    [
      { action: 'log_level_changed', log_level: 'fatal', previous_log_level: 'info' },
      { action: 'log_level_changed', log_level: 'info', previous_log_level: 'fatal' },
    ],
  )
})
