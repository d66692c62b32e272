import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { BenchError } from '../bench-error.ts'
import { type Cleanup, createCleanup } from '../cleanup.ts'
import { formatMeasurements, type Measurement } from './measurement.ts'

export type Soak = {
  /**
   * An empty folder. At its end, the soak test removes this folder. After a failure or an interruption, the soak test
   * keeps the files with the suffix `.log` in this folder, and removes all other files.
   */
  readonly folder: string
  readonly cleanup: Cleanup
}

/**
 * Runs one soak test. Prints every number beside its limit, and the load of the machine. If a number exceeds its limit,
 * sets the exit code to 1 and prints the folder of the logs.
 */
export async function runSoak(measure: (soak: Soak) => Promise<readonly Measurement[]>): Promise<void> {
  const cleanup = createCleanup()
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-soak-'))
  let passed = false
  cleanup.add(() => (passed ? rmSync(folder, { recursive: true, force: true }) : keepLogs(folder)))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => cleanup.run().finally(() => process.exit(1)))
  const before = loadAverage()
  const startedMs = performance.now()
  try {
    const rows = await measure({ folder, cleanup })
    console.log(formatMeasurements(rows))
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0)
    console.log(`${seconds} s; load average ${before} before, ${loadAverage()} after`)
    passed = rows.every((row) => row.passed !== false)
    process.exitCode = passed ? 0 : 1
  } finally {
    await cleanup.run()
  }
}

/** The parts of a soak test, by name. */
export type SoakParts = Readonly<Record<string, (soak: Soak) => Promise<readonly Measurement[]>>>

/**
 * Runs the parts that the arguments of the program name, or all parts. Each part has its own folder and processes,
 * because the memory of other parts would also count. Prints the numbers of each part.
 * @throws {BenchError} ERR_BENCH_USAGE for an unknown name.
 */
export async function measureParts(soak: Soak, parts: SoakParts): Promise<readonly Measurement[]> {
  const chosen = process.argv.slice(2)
  const unknown = chosen.find((name) => !Object.hasOwn(parts, name))
  if (unknown !== undefined)
    throw new BenchError('ERR_BENCH_USAGE', `name ${Object.keys(parts).join(', ')} (got "${unknown}").`)
  const rows: Measurement[] = []
  for (const [name, measure] of Object.entries(parts)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const cleanup = createCleanup()
    soak.cleanup.add(cleanup.run)
    const folder = join(soak.folder, name)
    mkdirSync(folder)
    const measured = await measure({ folder, cleanup })
    for (const row of measured) console.log(`${row.what}: ${row.measured}`)
    rows.push(...measured)
    await cleanup.run()
  }
  return rows
}

/** Removes all files except the logs, because the other files contain secrets and the data of the store. */
function keepLogs(folder: string): void {
  const names = readdirSync(folder)
  const others = names.filter((name) => !name.endsWith('.log'))
  for (const name of others) rmSync(join(folder, name), { recursive: true, force: true })
  if (others.length === names.length) rmSync(folder, { recursive: true })
  else console.log(`The logs of the processes are in ${folder}`)
}

function loadAverage(): string {
  return loadavg()[0]?.toFixed(1) ?? '?'
}
