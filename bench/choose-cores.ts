/** Processor lists as `taskset -c` takes them: the server under test has one for itself, everything else shares the others. */
export type Cores = { readonly server: string; readonly others: string }

/**
 * Splits the processors that this process may use.
 * The server gets the last one: the first is where a machine's interrupts tend to go.
 * @returns undefined when there is only one, so that nothing can be kept apart.
 */
export function chooseCores(processStatus: string): Cores | undefined {
  const allowed = readAllowedProcessors(processStatus)
  const server = allowed.pop()
  if (server === undefined || allowed.length === 0) return undefined
  return { server: String(server), others: allowed.join(',') }
}

/** Reads `Cpus_allowed_list: 0-2,5` of /proc/PID/status (proc_pid_status(5)) as single numbers, ascending. */
function readAllowedProcessors(processStatus: string): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(processStatus)?.[1] ?? ''
  return list.split(',').flatMap((range) => {
    const [first = Number.NaN, last = first] = range.split('-').map(Number)
    return Number.isNaN(first) ? [] : Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
}
