import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/**
 * Has the heap collected wholly, which takes tens of milliseconds. A process that refuses requests makes too little garbage for
 * V8 to do so by itself, and would not learn that it has memory again.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}
