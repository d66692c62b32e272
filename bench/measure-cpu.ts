import { readFileSync } from 'node:fs'
import { BenchError } from './bench-error.ts'

const MICROS_PER_TICK = 10_000 // /proc counts in USER_HZ, which is 100 on every architecture that Node.js runs on

/**
 * CPU time that a process (all its threads, ended ones too) has used since it began, user and system, in microseconds.
 * @throws {BenchError} ERR_BENCH_SUBJECT when there is no such process any more.
 */
export function measureCpuMicros(pid: number): number {
  return parseCpuTicks(readStat(pid)) * MICROS_PER_TICK
}

function readStat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch (cause) {
    throw new BenchError('ERR_BENCH_SUBJECT', `the server under test (process ${pid}) has ended`, { cause })
  }
}

/** utime + stime of a /proc/PID/stat line: fields 14 and 15 of proc_pid_stat(5). */
export function parseCpuTicks(stat: string): number {
  // Field 2 is the program's name in brackets and may hold spaces and brackets itself, so counting begins after the last one.
  const fromState = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fromState[11]) + Number(fromState[12])
}
