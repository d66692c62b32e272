/**
 * Processor lists in the format of `taskset -c`. The server under test has one processor. All other processes share the
 * other processors.
 */
export type Cores = { readonly server: string; readonly others: string }

/**
 * Splits the permitted processors of this process. The server gets the last processor, because the first processor
 * usually handles the interrupts of the machine.
 * @returns undefined if this process may use only one processor.
 */
export function chooseCores(processStatus: string): Cores | undefined {
  const allowed = readAllowedProcessors(processStatus)
  const server = allowed.pop()
  if (server === undefined || allowed.length === 0) return undefined
  return { server: String(server), others: allowed.join(',') }
}

/**
 * Returns the processor numbers of the line `Cpus_allowed_list` in /proc/PID/status (proc_pid_status(5)), ascending.
 * The list `0-2,5` gives 0, 1, 2 and 5.
 */
function readAllowedProcessors(processStatus: string): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(processStatus)?.[1] ?? ''
  return list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number)
    return Number.isNaN(first) ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}
