import { readFileSync } from 'node:fs'

const MICROS_PER_TICK = 10_000 // as in measure-cpu.ts

/**
 * CPU time that programs, all together, have used on one processor since the machine started, in microseconds.
 * @param processor as `taskset -c` calls it.
 */
export function measureCoreMicros(processor: string): number {
  return parseProgramTicks(readFileSync('/proc/stat', 'utf8'), processor) * MICROS_PER_TICK
}

/**
 * user + nice + system of the line `cpuN` of /proc/stat (proc_stat(5)).
 * Without interrupts, because the server's own traffic causes some of them.
 */
export function parseProgramTicks(stat: string, processor: string): number {
  const line = stat.split('\n').find((each) => each.startsWith(`cpu${processor} `)) ?? ''
  const [, user, nice, system] = line.split(' ').map(Number)
  return (user ?? 0) + (nice ?? 0) + (system ?? 0)
}
