import { readdirSync, readFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

/**
 * Nice value of V8's helper threads. With 10, a thread gets about a tenth of the processor share of a normal thread.
 */
const HELPER_NICE = 10

/**
 * Lowers the priority of V8's helper threads, which mark garbage and compile functions. Call this function at the
 * entry of a process. Four helper threads start a job together. On one processor, the event loop then gets a fifth of
 * the time, and requests wait 50 to 200 ms
 * (docs/decisions/0033-lower-the-priority-of-v8-helper-threads.md).
 *
 * If the nice value of the process is above 10, the helper threads get the same nice value as the process.
 *
 * Linux only. Elsewhere, and where the kernel does not permit the change, the priorities stay the same.
 */
export function lowerHelperPriority(): void {
  try {
    const nice = Math.max(HELPER_NICE, getPriority())
    for (const thread of readdirSync('/proc/self/task')) {
      const name = readFileSync(`/proc/self/task/${thread}/comm`, 'latin1')
      if (name === 'V8Worker\n') setPriority(Number(thread), nice)
    }
  } catch {
    // Without the lower priority, the gateway works, but requests can wait longer.
  }
}
