import { readFileSync } from 'node:fs'
import { BenchError } from './bench-error.ts'

const MICROS_PER_TICK = 10_000 // /proc counts in USER_HZ, which is 100 on every architecture of Node.js

/**
 * Returns the user and system CPU time of a server since its start. Microseconds. Includes all threads of the process,
 * and child processes such as workers, even after their end.
 * @throws {BenchError} ERR_BENCH_SUBJECT if the process has ended.
 */
export function measureCpuMicros(pid: number): number {
  try {
    return sumCpuTicks(pid) * MICROS_PER_TICK
  } catch (cause) {
    throw new BenchError('ERR_BENCH_SUBJECT', `the server under test (process ${pid}) has ended`, { cause })
  }
}

/** Returns the sum of utime, stime, cutime and cstime of a /proc/PID/stat line: fields 14 to 17 of proc_pid_stat(5). */
export function parseCpuTicks(stat: string): number {
  // Field 2 is the name of the program in brackets. The name can contain spaces and brackets, so the last bracket ends
  // the field.
  const fromState = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fromState.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
}

function sumCpuTicks(pid: number): number {
  const own = parseCpuTicks(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + sumCpuTicks(Number(child)), own)
}
