import { Agent, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

/** Returns a function that sends all requests on one connection, and therefore to one worker. */
function aConnection(t: Test, url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  return (path: string, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(`${url}${path}`, { agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      }).on('error', reject)
    })
}

/** The tests share the gateway. The supervisor assigns connections to the workers alternately. */
const cleanup = createCleanup()
const folder = t.testdir()
t.teardown(() => cleanup.run())
const gateway = await startSoakGateway({
  folder,
  cleanup,
  upstream: `http://127.0.0.1:${await quietPort()}`,
  settings: { workers: 2, policyReload: 'manual' },
})

t.test('/readyz?verbose of two workers names an issuer that does not respond to one of them', async (t) => {
  const readiness = async () => {
    const { status, text } = await send(`${gateway.managementUrl}/readyz?verbose`)
    return `${status}\n${text}`
  }
  const ISSUER = 'http://127.0.0.1:1'
  const policies = (await readiness()).split('\n')[1]
  const expected = (introspection: string, summary: string) =>
    `200\n${policies}\n[+] workers: 2 of 2 ready\n[+] accepting\n${introspection}\n[+] event_loop\n${summary}\n`
  t.equal(await readiness(), expected(`[+] introspection at ${ISSUER}`, 'ok'))
  const headers = { authorization: 'Bearer opaque' }
  t.equal(await aConnection(t, gateway.url)('/pub/x', headers), 503)
  t.equal(
    await readiness(),
    expected(
      `[!] introspection at ${ISSUER}: 1 of 2 workers: The connection to the issuer failed.`,
      'ok (degraded)',
    ),
  )
  t.equal(await aConnection(t, gateway.url)('/pub/x', headers), 503)
  t.equal(
    await readiness(),
    expected(
      `[!] introspection at ${ISSUER}: 2 of 2 workers: The connection to the issuer failed.`,
      'ok (degraded)',
    ),
  )
})

t.test('the metrics of two workers show an open circuit of one worker', async (t) => {
  const metrics = async () => (await send(`${gateway.managementUrl}/metrics`)).text
  const fail = async (request: (path: string) => Promise<number | undefined>) => {
    const statuses: (number | undefined)[] = []
    for (let count = 0; count < 6; count += 1) statuses.push(await request('/pub/x'))
    t.same(statuses, [502, 502, 502, 502, 502, 503], 'five failures open the circuit of this worker')
  }

  t.match(await metrics(), /^scopegate_upstream_up\{upstream="api"\} 1$/m)
  t.match(await metrics(), /^scopegate_circuit_state\{upstream="api"\} 0$/m)

  await fail(aConnection(t, gateway.url))
  t.match(await metrics(), /^scopegate_upstream_up\{upstream="api"\} 0$/m, 'one of two is down')
  t.match(await metrics(), /^scopegate_circuit_state\{upstream="api"\} 2$/m)

  await fail(aConnection(t, gateway.url))
  t.match(await metrics(), /^scopegate_upstream_up\{upstream="api"\} 0$/m)
  t.match(await metrics(), /^scopegate_circuit_state\{upstream="api"\} 2$/m, 'never more than open')
})

t.test('a worker that does not respond contributes its earlier metrics', async (t) => {
  const errors = async () => {
    const { text } = await send(`${gateway.managementUrl}/metrics`)
    return /^scopegate_upstream_errors_total\{.*reason="connect".*\} (\d+)$/m.exec(text)?.[1]
  }
  t.equal(await errors(), '10', 'each worker has counted five errors')
  const [, worker = 0] = childrenOf(gateway.process.pid)
  process.kill(worker, 'SIGSTOP')
  t.teardown(() => process.kill(worker, 'SIGCONT'))
  t.equal(await errors(), '10')
})

t.test('a readiness probe between a delay of one worker and a scrape does not hide the delay', async (t) => {
  const [, worker = 0] = childrenOf(gateway.process.pid)
  const metrics = async () => (await send(`${gateway.managementUrl}/metrics`)).text
  await metrics()
  process.kill(worker, 'SIGSTOP')
  await wait(400) // the delay, not a synchronization
  process.kill(worker, 'SIGCONT')
  await until('the metrics show the delay', async () => {
    // The worker measures the delay every 100 ms, and therefore before the last probe.
    for (let probe = 0; probe < 100; probe += 1)
      t.equal((await send(`${gateway.managementUrl}/readyz`)).status, 200)
    const [, seconds] = /^scopegate_event_loop_delay_seconds (\S+)$/m.exec(await metrics()) ?? []
    return Number(seconds) > 0.3
  })
})
