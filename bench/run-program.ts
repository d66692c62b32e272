import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BenchError } from './bench-error.ts'
import { type Cleanup, createCleanup } from './cleanup.ts'

const EXIT_USAGE = 2
const EXIT_INTERRUPTED = 130 // exit code of a shell after Ctrl+C

/**
 * Runs the main function of a program of bench/. Ends the processes of the program, also after a failure or an
 * interruption. `folder` is empty, and the function removes it at the end. Sets the exit code of this process.
 */
export async function runProgram(
  main: (own: { readonly cleanup: Cleanup; readonly folder: string }) => Promise<void>,
): Promise<void> {
  const cleanup = createCleanup()
  let interrupted = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      interrupted = true
      cleanup.run().finally(() => process.exit(EXIT_INTERRUPTED))
    })
  try {
    if (!existsSync('/proc/self/stat'))
      throw new BenchError('ERR_BENCH_SYSTEM', 'CPU time comes from /proc, which requires Linux.')
    const folder = mkdtempSync(join(tmpdir(), 'scopegate-bench-'))
    cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
    await main({ cleanup, folder })
  } catch (error) {
    // An interruption ends the processes of the program. A failure after the interruption is not an error of the
    // program.
    if (!interrupted) process.exitCode = report(error)
  } finally {
    await cleanup.run()
  }
}

function report(error: unknown): number {
  const known = error instanceof BenchError
  const text =
    error instanceof Error ? (known ? error.message : (error.stack ?? error.message)) : String(error)
  process.stderr.write(`bench: ${text}\n`)
  return known && error.code === 'ERR_BENCH_USAGE' ? EXIT_USAGE : 1
}
