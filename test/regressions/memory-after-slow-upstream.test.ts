import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { PATIENT } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// Before the fix, V8 considered the objects of a request long-lived after many requests had waited for a slow upstream.
// V8 then allocated such objects in the old generation. The old objects referenced other objects, so young-generation
// collections never freed these other objects.

const MAIN = join(import.meta.dirname, '..', '..', 'gateway', 'main.ts')
const COLLECT_NOW_AND_THEN = "data:text/javascript,setInterval(() => gc({ type: 'minor' }), 200).unref()"
const PATH = '/api/courses'
const WAITING = 800
const LATER = 5_000
const CONNECTIONS = 32
/**
 * Maximum memory of a request that V8 promotes to the old generation. The headers of one request already need more
 * memory.
 */
const PROMOTED_BYTES_PER_REQUEST = 1_024
const LIMIT_MS = 60_000

t.test(
  'after a slow upstream at the start, memory of later requests is freed after their responses',
  async (t) => {
    const held: ServerResponse[] = []
    let holds = true
    const upstream = createServer((request, response) => {
      if (holds && request.url === PATH) held.push(response)
      else response.end('{}')
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    t.teardown(() => upstream.close())
    const gateway = await startGateway(t, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)

    const burst = ask(gateway.url, WAITING, new Agent({ maxSockets: WAITING }))
    burst.catch(() => undefined) // the test awaits it below
    await until('every request waits', async () => held.length === WAITING, LIMIT_MS)
    await gateway.collected(2)
    holds = false
    for (const response of held) response.end('{}')
    await burst
    await gateway.collected(2)

    const before = gateway.promotedBytes()
    await ask(gateway.url, LATER, new Agent({ keepAlive: true, maxSockets: CONNECTIONS }))
    await gateway.collected(2)
    const perRequest = (gateway.promotedBytes() - before) / LATER
    t.ok(
      perRequest < PROMOTED_BYTES_PER_REQUEST,
      `${Math.round(perRequest)} bytes of each request became old`,
    )
    t.notMatch(gateway.log(), /illegal value|unrecognized flag|bad option/i, 'this V8 supports the flag')
  },
)

/** The gateway reports every young-generation collection. The young generation is large from the start. */
async function startGateway(t: Pick<Test, 'teardown' | 'testdir'>, upstream: string) {
  const secretFile = join(t.testdir(), 'secret')
  writeFileSync(secretFile, 'a'.repeat(43), { mode: 0o600 })
  const flags = ['--expose-gc', '--min-semi-space-size=32', '--trace-gc', '--trace-gc-nvp']
  const child = spawnPlainly(process.execPath, [...flags, '--import', COLLECT_NOW_AND_THEN, MAIN], {
    env: {
      PORT: '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
      ...PATIENT,
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: upstream,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
    },
  })
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  const promoted = (): number[] =>
    [...log.matchAll(/ gc=s .* promoted=(\d+)/g)].map(([, bytes]) => Number(bytes))
  const listening = await until(
    'the gateway listens',
    async () => /^\{.*"event":"listening".*\}$/m.exec(log)?.[0],
    LIMIT_MS,
  )
  return {
    url: String((JSON.parse(listening) as { readonly url: string }).url),
    log: () => log,
    promotedBytes: () => promoted().reduce((sum, bytes) => sum + bytes, 0),
    collected: (times: number) => {
      const wanted = promoted().length + times
      return until('a collection', async () => promoted().length >= wanted, LIMIT_MS)
    },
  }
}

/**
 * Sends this number of requests over all connections of the agent. Waits for the last response.
 * @throws {Error} if a response does not come from the upstream.
 */
async function ask(url: string, times: number, agent: Agent): Promise<void> {
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      get(`${url}${PATH}`, { agent }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`answered with ${response.statusCode}`))
        response.resume().on('end', resolve)
      }).on('error', reject)
    })
  await Promise.all(Array.from({ length: times }, one))
  agent.destroy()
}
