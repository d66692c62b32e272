import { fileURLToPath } from 'node:url'
import { BenchError } from '../bench-error.ts'
import type { Cleanup } from '../cleanup.ts'
import { startProcess, whenReady } from '../start-process.ts'
import { CONNECTIONS, type Load, type LoadResult } from './load.ts'

/** Within this time after the end of the round, the generator must report its counts. Milliseconds. */
const GRACE_MS = 10_000

/**
 * Starts the load generator for a machine without wrk. One process runs during the complete benchmark, so that its code
 * is already compiled in every round.
 */
export async function startNodeLoad(options: {
  readonly cores: string | undefined
  readonly cleanup: Cleanup
}): Promise<Load> {
  const file = fileURLToPath(new URL('./closed-loop.ts', import.meta.url))
  const generator = startProcess({ name: 'load', command: [process.execPath, file], ...options })
  await whenReady(generator)
  const gone = generator.ended.then((complaints): never => {
    throw new BenchError('ERR_BENCH_LOAD', `the load generator ended: ${complaints}`)
  })
  gone.catch(() => undefined) // the end of the generator is an error only during a round

  return {
    name: `own generator on Node.js ${process.versions.node} (wrk is not installed)`,
    connections: CONNECTIONS,
    run: (target, seconds) => {
      const answer = new Promise<LoadResult>((resolve, reject) => {
        const deadline = setTimeout(
          () => reject(new BenchError('ERR_BENCH_LOAD', 'the load generator sent no result')),
          seconds * 1000 + GRACE_MS,
        )
        generator.child.once('message', (result: LoadResult) => {
          clearTimeout(deadline)
          resolve(result)
        })
        generator.child.send({ ...target, seconds, connections: CONNECTIONS })
      })
      return Promise.race([answer, gone])
    },
  }
}
