import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import FindMyWay from 'find-my-way'
import t from 'tap'
import { POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

// Number of reloads. `npm run soak:reload` runs 1,000.
const RELOADS = Number(process.env['RELOAD_HEAP'] ?? 50)
const WARM_UP = 20
/**
 * Maximum change of the heap per reload, in bytes, in both directions. A leaked snapshot of this policy takes about 100
 * KiB. With fifty reloads, one megabyte of compiled code is about 20 KiB per reload. A heap that shrinks by more bytes
 * was not stable before the test.
 */
const MOST_LEFT_BYTES = 50_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const countTables = (): number =>
  queryObjects(FindMyWay as unknown as () => void, { format: 'count' }) as unknown as number

t.test(`${RELOADS} reloads leak no memory`, async (t) => {
  let file = ''
  const { gateway } = await startGatewayUnderTest(t, {
    change(config) {
      file = join(config.policiesDir, 'test.policy.yaml')
      return config
    },
  })
  async function reload(number: number): Promise<void> {
    writeFileSync(
      file,
      `# ${number}\n${number % 2 === 0 ? POLICY : POLICY.replace('anonymous: allow', 'anonymous: deny')}`,
    )
    const { result } = await gateway.reload('signal')
    if (result !== 'applied') throw new Error(`reload ${number}: ${result}`)
    // Most reloads send no request, because every request adds log lines and recorded requests to the heap of the test.
    if (number % 10 !== 0) return
    for (const path of ['/openapi.json', '/auth.md', '/.well-known/oauth-protected-resource'])
      await send(`${gateway.url}${path}`)
  }
  async function heapUsed(): Promise<number> {
    for (let turn = 0; turn < 3; turn++) {
      await new Promise(setImmediate)
      collect()
    }
    return process.memoryUsage().heapUsed
  }
  for (let number = 0; number < WARM_UP / 2; number++) await reload(number)
  // While V8 counts objects, V8 discards megabytes of compiled code. The rest of the warm-up compiles this code again.
  const tables = countTables()
  t.ok(tables > 0, 'the heap contains the counted objects')
  for (let number = WARM_UP / 2; number < WARM_UP; number++) await reload(number)
  const before = await heapUsed()
  for (let number = WARM_UP; number < WARM_UP + RELOADS; number++) await reload(number)
  const left = ((await heapUsed()) - before) / RELOADS
  t.equal(countTables(), tables, 'route tables in memory')
  t.ok(Math.abs(left) < MOST_LEFT_BYTES, `${Math.round(left)} bytes are left of each`)
  t.comment(`${Math.round(left)} bytes are left of each reload`)
})
