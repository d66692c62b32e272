import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { aConfigMap } from '../fixtures/a-config-map.ts'
import { POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

// Number of swaps. `npm run soak:reload` runs 1,000.
const SWAPS = Number(process.env['RELOAD_SWAPS'] ?? 50)

/**
 * Returns two files of one version. Between versions, one route moves to the other file. A mix of two versions therefore
 * declares the route twice, or omits the route.
 */
function version(number: number): Readonly<Record<string, string>> {
  const other = `apiVersion: scopegate/v1
kind: Policy
name: other
owner: version-${number}
upstream: api
routes:
  - { name: moves, match: { methods: [GET], path: /moves } }
`
  const moving = '  - { name: moves, match: { methods: [GET], path: /moves } }\n'
  return number % 2 === 0
    ? { 'test.policy.yaml': POLICY, 'other.policy.yaml': other }
    : {
        'test.policy.yaml': POLICY + moving,
        [`extra-${number % 4}.policy.yaml`]: other.replaceAll('moves', 'new'),
      }
}

t.test(
  `${SWAPS} swaps of a ConfigMap: no mixed version is loaded, and the last version becomes active`,
  async (t) => {
    let volume: ReturnType<typeof aConfigMap> | undefined
    const { gateway, log, logText } = await startGatewayUnderTest(t, {
      change(config) {
        const policiesDir = join(config.policiesDir, 'volume')
        mkdirSync(policiesDir)
        volume = aConfigMap(policiesDir, version(0))
        return { ...config, policiesDir, policyReload: 'watch' }
      },
    })
    const statuses = new Set<number>()
    let swapping = true
    const load = (async () => {
      while (swapping) {
        statuses.add((await send(`${gateway.url}/moves`)).status)
        await wait(1) // a pause, so that the gateway has time to load policies
      }
    })()
    const inForce = () => log().filter(({ event }) => event === 'policy_reloaded').length
    for (let number = 1; number <= SWAPS; number++) {
      const before = inForce()
      volume?.swap(version(number))
      // For every tenth version, waits until the gateway has read the version twice and loaded it. The other swaps can
      // occur at any time during a read.
      if (number % 10 === 0) await until('the swapped policies are active', async () => inForce() > before)
      else await wait(Math.random() * 3)
    }
    swapping = false
    await load
    t.same(statuses, new Set([200]), 'a route that only moves from file to file is always there')
    volume?.swap(version(3))
    await until('the last version is active', async () => (await send(`${gateway.url}/new`)).status === 200)
    const metrics = (await send(`${gateway.managementUrl}/metrics`)).text
    t.match(metrics, /^scopegate_policy_reloads_total\{result="failure"\} 0$/m)
    t.match(metrics, /^scopegate_policy_reload_success 1$/m)
    const reloads = Number(/reloads_total\{result="success"\} (\d+)/.exec(metrics)?.[1])
    t.ok(reloads > SWAPS / 10, `${reloads} versions became active`)
    t.notMatch(logText(), /policy_reload_(failed|internal_error)/)
  },
)
