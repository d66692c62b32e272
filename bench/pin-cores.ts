import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Cores, chooseCores } from './choose-cores.ts'
import { findProgram } from './find-program.ts'

/**
 * Moves this process off the processor that is kept for the server under test.
 * @returns how the processors are shared out, or undefined where there is only one, or no `taskset`: then nothing is pinned.
 */
export function pinCores(): Cores | undefined {
  const taskset = findProgram('taskset')
  const cores = chooseCores(readFileSync('/proc/self/status', 'utf8'))
  if (taskset === undefined || cores === undefined) return undefined
  execFileSync(taskset, ['-a', '-cp', cores.others, String(process.pid)], { stdio: 'ignore' })
  return cores
}
