import { CONNECTIONS, type Load, type LoadResult } from './load.ts'

/**
 * Performs one operation on a connection, and classifies the response. `connection` is the index of the connection.
 * With `finished`, no prepared input remains, the exchange sent no request, and the connection ends.
 */
export type Exchange = (connection: number) => Promise<'right' | 'wrongStatus' | 'wrongBody' | 'finished'>

/**
 * Creates a closed loop in this process. Use this load for requests that differ for each connection, or that depend on
 * earlier responses. At the end, the loop waits for the responses in flight, so that no response gets lost.
 * @param exchanges for the URL of each target, the function that sends one request.
 */
export function createExchangeLoad(exchanges: ReadonlyMap<string, Exchange>): Load {
  return {
    name: 'a closed loop in the process of the benchmark',
    connections: CONNECTIONS,
    run: async ({ url }, seconds) => {
      const exchange = exchanges.get(url)
      if (exchange === undefined) throw new Error(`no requests for ${url}`)
      return runExchanges(exchange, seconds)
    },
  }
}

async function runExchanges(exchange: Exchange, seconds: number): Promise<LoadResult> {
  const count = { right: 0, wrongStatus: 0, wrongBody: 0, broken: 0 }
  const startedMs = performance.now()
  const endMs = startedMs + seconds * 1_000
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, connection) => {
      while (performance.now() < endMs) {
        const outcome = await exchange(connection).catch(() => 'broken' as const)
        if (outcome === 'finished') return
        count[outcome]++
        if (outcome !== 'right') return
      }
    }),
  )
  return { ...count, elapsedMs: performance.now() - startedMs }
}
