import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/**
 * Forces a full garbage collection, which takes tens of milliseconds. A process that rejects requests produces too
 * little garbage to trigger one in V8. Without a collection, it would not notice that memory is available again.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
