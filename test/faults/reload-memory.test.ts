import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import FindMyWay from 'find-my-way'
import t from 'tap'
import { POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

// `npm run soak:reload` asks for a thousand.
const RELOADS = Number(process.env['RELOAD_HEAP'] ?? 50)
const WARM_UP = 20
/**
 * A snapshot of this policy that nobody let go of would be some 100 KiB; a megabyte of code that is made in between is some 20 KiB
 * for each of fifty. Bytes for each reload, more or less: a heap that shrinks by more was not at rest when it was measured.
 */
const MOST_LEFT_BYTES = 50_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const countTables = (): number =>
  queryObjects(FindMyWay as unknown as () => void, { format: 'count' }) as unknown as number

t.test(`${RELOADS} reloads leave nothing behind`, async (t) => {
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
    // What is logged and recorded of requests stays here, in the test.
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
  // V8 drops megabytes of code for whoever counts objects, and makes it again: in what is left of the warm-up.
  const tables = countTables()
  t.ok(tables > 0, 'there is what is counted')
  for (let number = WARM_UP / 2; number < WARM_UP; number++) await reload(number)
  const before = await heapUsed()
  for (let number = WARM_UP; number < WARM_UP + RELOADS; number++) await reload(number)
  const left = ((await heapUsed()) - before) / RELOADS
  t.equal(countTables(), tables, 'route tables that anybody still holds')
  t.ok(Math.abs(left) < MOST_LEFT_BYTES, `${Math.round(left)} bytes are left of each`)
  t.comment(`${Math.round(left)} bytes are left of each reload`)
})
