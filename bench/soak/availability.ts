// npm run soak:availability: two gateways with two workers, two authorization servers and a store. The load is 300
// requests per second with refreshes and revocations, on opaque tokens and on JWTs. The stores are Redis, Redis with
// Sentinel, Redis Cluster and PostgreSQL. For each store and token format, the test causes the faults of `FAULTS`.
// Prints the table, and writes it to docs/availability.md and bench/results/. Options: --store=, --tokens=, --fault=
// (lists with commas), --quick (short outages; writes no files).
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BenchError } from '../bench-error.ts'
import { createCleanup } from '../cleanup.ts'
import { runProgram } from '../run-program.ts'
import { writeMeasurements } from '../write-results.ts'
import { FAULTS } from './availability-result.ts'
import { STORES, type StoreName } from './availability-stores.ts'
import {
  type AvailabilityRow,
  findExceededLimits,
  formatRows,
  formatTable,
  writeTable,
} from './availability-table.ts'
import { startTrial, type TokenFormat } from './availability-trial.ts'

const TOKENS: readonly TokenFormat[] = ['opaque', 'jwt']
const STORE_NAMES = Object.keys(STORES) as readonly StoreName[]
const LOAD = {
  perSecond: 260,
  sequences: 20,
  revocationsPerSecond: 4,
  known: 23,
  reserve: 400,
  workers: 2,
  servers: 2,
}
const DURATIONS = {
  quietMs: 20_000,
  downMs: 2_000,
  freezeMs: 5_000,
  partitionMs: 10_000,
  awayMs: 120_000,
  settleMs: 6_000,
  calmMs: 3_000,
}
const QUICK_AWAY_MS = 8_000

await runProgram(async ({ cleanup: own, folder }) => {
  const { stores, formats, faults, isQuick } = readOptions(process.argv.slice(2))
  const rows: AvailabilityRow[] = []
  const startedMs = performance.now()
  for (const store of stores)
    for (const tokens of formats) {
      const cleanup = createCleanup()
      own.add(cleanup.run)
      const trialFolder = join(folder, `${store}-${tokens}`)
      mkdirSync(trialFolder)
      progress(`${store}, ${tokens}: starting the services`)
      const durations = isQuick ? { ...DURATIONS, awayMs: QUICK_AWAY_MS } : DURATIONS
      const trial = await startTrial({ ...LOAD, ...durations, folder: trialFolder, cleanup, store, tokens })
      for (const fault of faults) {
        const row = { store, tokens, fault, result: await trial.measure(fault) }
        rows.push(row)
        progress(formatRows([row])[0] ?? '')
        progress(`  ${JSON.stringify(row.result?.statuses ?? {})}`)
      }
      await trial.stop()
      await cleanup.run()
    }
  const exceeded = rows.flatMap(findExceededLimits)
  const lines = formatRows(rows)
  process.stdout.write(`\n${formatTable(lines)}\n\n`)
  for (const limit of exceeded) progress(`limit exceeded: ${limit}`)
  if (exceeded.length > 0) process.exitCode = 1
  if (!isQuick) {
    writeTable(lines)
    const described = rows.map(({ result, ...row }) => ({ ...row, ...result }))
    const prefix = ['availability', ...stores, ...formats, ''].join('-')
    const file = writeMeasurements(prefix, new Date(), { ...LOAD, ...DURATIONS, rows: described })
    progress(`written to docs/availability.md and ${file}`)
  }

  function progress(text: string): void {
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0)
    process.stdout.write(`${seconds.padStart(5)} s  ${text}\n`)
  }
})

function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: { store: text, tokens: text, fault: text, quick: { type: 'boolean' } },
  })
  return {
    stores: choose('--store', values.store, STORE_NAMES),
    formats: choose('--tokens', values.tokens, TOKENS),
    faults: choose('--fault', values.fault, FAULTS),
    isQuick: values.quick === true,
  }
}

function choose<T extends string>(option: string, text: string | undefined, all: readonly T[]): readonly T[] {
  const wanted = text?.split(',') ?? all
  const unknown = wanted.find((name) => !all.includes(name as T))
  if (unknown !== undefined)
    throw new BenchError(
      'ERR_BENCH_USAGE',
      `${option} must be a list of ${all.join(', ')} (got "${unknown}").`,
    )
  return all.filter((name) => wanted.includes(name))
}
