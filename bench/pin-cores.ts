import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type Cores, chooseCores } from './choose-cores.ts'
import { findProgram } from './find-program.ts'

/**
 * Pins this process to the processors that the server under test does not use. Does nothing with one processor or
 * without `taskset`.
 * @returns the processors of the server and of the other processes. Undefined if the function did nothing.
 */
export function pinCores(): Cores | undefined {
  const taskset = findProgram('taskset')
  const cores = chooseCores(readFileSync('/proc/self/status', 'utf8'))
  if (taskset === undefined || cores === undefined) return undefined
  execFileSync(taskset, ['-a', '-cp', cores.others, String(process.pid)], { stdio: 'ignore' })
  return cores
}
