// npm run soak:reload: 100 changes of the policies and 200 invalid policies, under load, with two workers and with one
// process. Prints each number beside its limit. The exit code is 1 if a number exceeds its limit. The script in
// package.json then runs tests. These tests swap a ConfigMap 1,000 times, and measure the leaked memory of 1,000
// reloads.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createCleanup } from '../cleanup.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { runSoak } from './run-soak.ts'
import { type ReloadSoak, soakBrokenReloads, soakGoodReloads, startReloadedGateway } from './soak-reload.ts'

const GOOD = { reloads: 100, connections: 32, everyMs: 600 }
const BROKEN = { reloads: 200, connections: 32, everyMs: 0 }

await runSoak(async ({ folder: parent, cleanup }) => {
  const rows: Measurement[] = []
  for (const workers of [1, 2]) {
    const folder = join(parent, String(workers))
    mkdirSync(folder)
    const own = createCleanup()
    cleanup.add(own.run)
    const gateway = await startReloadedGateway({ folder, cleanup: own, workers })
    const what = workers === 1 ? 'one process' : `${workers} workers`
    rows.push(
      ...measured(`${what}, ${GOOD.reloads} changes`, await soakGoodReloads(gateway, { ...GOOD, folder })),
    )
    rows.push(
      ...measured(
        `${what}, ${BROKEN.reloads} broken`,
        await soakBrokenReloads(gateway, { ...BROKEN, folder }),
      ),
    )
    await own.run()
  }
  return rows
})

function measured(what: string, soak: ReloadSoak): readonly Measurement[] {
  const failed = [...soak.failed.values()].reduce((sum, one) => sum + one, 0)
  const sorted = soak.tookMs.toSorted((one, other) => one - other)
  const withoutLimit = (name: string, text: string): Measurement => ({
    what: `${what}: ${name}`,
    measured: text,
    limit: 'none',
    passed: undefined,
  })
  const percentile = (part: number): string =>
    `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(0)} ms`
  return [
    withoutLimit('requests answered', String(soak.answered)),
    measuredCount(`${what}: requests failed`, failed, 0),
    measuredCount(`${what}: responses that match no policy version`, soak.wrong.length, 0),
    measuredCount(`${what}: reloads with another result or without a location`, soak.unexpected.length, 0),
    ...[...soak.wrong, ...soak.unexpected].slice(0, 10).map((one) => withoutLimit('what', one)),
    withoutLimit('a reload, p50 and longest', `${percentile(0.5)}, ${percentile(1)}`),
  ]
}
