import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cleanup, createCleanup } from '../cleanup.ts'
import { formatMeasurements, type Measurement } from './measurement.ts'

export type Soak = {
  /** The soak test removes this empty folder at its end. */
  readonly folder: string
  readonly cleanup: Cleanup
}

/**
 * Runs one soak test. Prints every number beside its limit, and the load of the machine. Sets the exit code to 1 if a
 * number exceeds its limit.
 */
export async function runSoak(measure: (soak: Soak) => Promise<readonly Measurement[]>): Promise<void> {
  const cleanup = createCleanup()
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-soak-'))
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => cleanup.run().finally(() => process.exit(1)))
  const before = loadAverage()
  const startedMs = performance.now()
  try {
    const rows = await measure({ folder, cleanup })
    console.log(formatMeasurements(rows))
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0)
    console.log(`${seconds} s; load average ${before} before, ${loadAverage()} after`)
    process.exitCode = rows.every((row) => row.passed !== false) ? 0 : 1
  } finally {
    await cleanup.run()
  }
}

function loadAverage(): string {
  return loadavg()[0]?.toFixed(1) ?? '?'
}
