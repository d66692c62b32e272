import { Agent, request } from 'node:http'
import { randomOf } from './random.ts'
import { EXPECTED_STATUSES } from './versioned-policies.ts'

export type VersionsLoad = {
  /** Number of responses by policy hash, path and status. Each key is `hash path status`. */
  readonly seen: ReadonlyMap<string, number>
  readonly failed: ReadonlyMap<string, number>
  readonly answered: number
  /** Resolves after this number of new responses or failures. */
  more(requests: number): Promise<void>
  stop(): Promise<void>
}

/**
 * Requests the paths of `EXPECTED_STATUSES` on keep-alive connections. Counts the responses by policy hash, path and
 * status.
 */
export function startVersionsLoad(url: string, connections: number): VersionsLoad {
  const seen = new Map<string, number>()
  const failed = new Map<string, number>()
  const paths = Object.keys(EXPECTED_STATUSES) as [string, ...string[]]
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const waiting = new Set<{ left: number; readonly resolve: () => void }>()
  let answered = 0
  let stopping = false

  function ask(path: string): Promise<void> {
    return new Promise((resolve) => {
      const asked = request(`${url}${path}`, { agent }, (response) => {
        response.resume().on('end', () => {
          answered += 1
          const hash = response.headers['x-scopegate-policy'] ?? 'none'
          count(seen, `${hash} ${path} ${response.statusCode}`)
          resolve()
        })
        response.on('error', (error) => {
          count(failed, error.message)
          resolve()
        })
      })
      asked.on('error', (error) => {
        count(failed, error.message)
        resolve()
      })
      asked.end()
    })
  }

  const running = Array.from({ length: connections }, async () => {
    while (!stopping) {
      await ask(randomOf(paths))
      for (const one of waiting) if (--one.left <= 0) one.resolve()
    }
  })
  return {
    seen,
    failed,
    get answered() {
      return answered
    },
    async more(requests) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const one = { left: requests, resolve }
      waiting.add(one)
      await promise
      waiting.delete(one)
    },
    async stop() {
      stopping = true
      await Promise.all(running)
      agent.destroy()
    },
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1)
}

/**
 * Returns the responses whose status contradicts the policy version in the response. Also returns responses whose
 * version was never active. `parityOf` contains the active versions.
 */
export function findWrongResponses(
  load: VersionsLoad,
  parityOf: ReadonlyMap<string, 0 | 1>,
): readonly string[] {
  return [...load.seen.keys()].filter((one) => {
    const [hash = '', path = '', status] = one.split(' ')
    const parity = parityOf.get(hash)
    return parity === undefined || EXPECTED_STATUSES[path]?.[parity] !== Number(status)
  })
}
