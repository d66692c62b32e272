import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BenchError } from '../bench-error.ts'
import type { Bench, Row } from '../row.ts'
import { startProcess } from '../start-process.ts'
import { writeManyPolicies } from '../write-many-policies.ts'

const COMMAND = fileURLToPath(new URL('../../bin/scopegate.js', import.meta.url))
const ROUTES = 500
const GOAL_MS = 1_000

/** Duration of the `scopegate check` process from its start to its end. */
export const check: Row = {
  name: 'check',
  run: async (bench) => {
    const { folder, rounds, printProgress } = bench
    const many = join(folder, 'policies')
    writeManyPolicies(many, ROUTES)
    const cases = [
      { name: 'the shipped policies', args: [] },
      { name: `${ROUTES} routes, each with a test`, args: [many] },
      { name: `${ROUTES} routes, without tests`, args: [many, '--no-tests'] },
    ]
    // The first run fills the compile cache of Node.js, because users also run the command with a filled cache.
    await runOnce(bench, [])
    const figures = []
    for (const { name, args } of cases) {
      const found: number[] = []
      for (let round = 1; round <= rounds; round++) found.push(await runOnce(bench, args))
      printProgress(`${name}: ${found.map((ms) => Math.round(ms)).join(', ')} ms`)
      figures.push({ name, unit: 'ms', found, goal: GOAL_MS })
    }
    return {
      title: 'scopegate check, total run time',
      conditions: { sources: 'TypeScript of the checkout' },
      measured: [],
      ratios: [],
      figures,
    }
  },
}

/** @returns the duration of the command in milliseconds. */
async function runOnce({ cores, cleanup, folder }: Bench, args: readonly string[]): Promise<number> {
  const startedMs = performance.now()
  const { child, ended } = startProcess({
    name: 'check',
    command: [process.execPath, COMMAND, 'check', ...args],
    cores: cores?.server,
    cleanup,
    env: { XDG_CACHE_HOME: folder },
  })
  const said = await ended
  if (child.exitCode !== 0) throw new BenchError('ERR_BENCH_START', `scopegate check failed: ${said}`)
  return performance.now() - startedMs
}
