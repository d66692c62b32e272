import { readFileSync } from 'node:fs'

const MICROS_PER_TICK = 10_000 // the same value as in measure-cpu.ts

/**
 * Returns the CPU time of all programs on one processor since the start of the machine. Microseconds.
 * @param processor number of the processor in the format of `taskset -c`.
 */
export function measureCoreMicros(processor: string): number {
  return parseProgramTicks(readFileSync('/proc/stat', 'utf8'), processor) * MICROS_PER_TICK
}

/**
 * Returns user + nice + system of the line `cpuN` of /proc/stat. Source: proc_stat(5). Excludes interrupts, because the
 * traffic of the server causes some of the interrupts.
 */
export function parseProgramTicks(stat: string, processor: string): number {
  const line = stat.split('\n').find((each) => each.startsWith(`cpu${processor} `)) ?? ''
  const [, user, nice, system] = line.split(' ').map(Number)
  return (user ?? 0) + (nice ?? 0) + (system ?? 0)
}
