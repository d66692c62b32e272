import { setTimeout as wait } from 'node:timers/promises'
import type { ClusterGateway } from './revocation-cluster.ts'

/** The outcomes of the requests with one set of tokens. */
export type TokenOutcomes = {
  /** Number of responses by status. */
  readonly statuses: Map<number, number>
  /** Time of each request until the end of its response. Milliseconds. */
  readonly timesMs: number[]
}

/** A load that continues until `stop()`. */
export type KnownTokenLoad = {
  /** Outcomes since the start or the last call. The next call returns later outcomes only. */
  takeOutcomes(): { readonly known: TokenOutcomes; readonly revoked: TokenOutcomes }
  /** Waits for the open requests. */
  stop(): Promise<void>
}

/** One of ten requests has a revoked token. */
const REVOKED_EVERY = 10

/** Sends requests at a fixed rate, without waiting for responses. Alternates between the gateways. */
export function startKnownTokenLoad(options: {
  readonly gateways: readonly ClusterGateway[]
  /** Tokens that each gateway has accepted. */
  readonly known: readonly string[]
  /** Tokens that each gateway has rejected. */
  readonly revoked: readonly string[]
  readonly perSecond: number
}): KnownTokenLoad {
  const { gateways, perSecond } = options
  const open = new Set<Promise<void>>()
  const startedMs = performance.now()
  let outcomes = { known: noOutcomes(), revoked: noOutcomes() }
  let stopping = false

  async function send(number: number): Promise<void> {
    const kind = number % REVOKED_EVERY === 0 ? 'revoked' : 'known'
    const round = Math.floor(number / gateways.length)
    const token = options[kind][round % options[kind].length]
    const gateway = gateways[number % gateways.length]
    if (token === undefined || gateway === undefined) return
    const sentMs = performance.now()
    const status = await gateway.statusOf(token).catch(() => 0)
    const { statuses, timesMs } = outcomes[kind]
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    timesMs.push(performance.now() - sentMs)
  }

  async function run(): Promise<void> {
    for (let sent = 0; !stopping; await wait(1)) {
      const due = ((performance.now() - startedMs) * perSecond) / 1_000
      for (; sent < due; sent++) {
        const request = send(sent).finally(() => open.delete(request))
        open.add(request)
      }
    }
    await Promise.all(open)
  }

  const running = run()
  return {
    takeOutcomes() {
      const taken = outcomes
      outcomes = { known: noOutcomes(), revoked: noOutcomes() }
      return taken
    },
    stop() {
      stopping = true
      return running
    },
  }
}

function noOutcomes(): TokenOutcomes {
  return { statuses: new Map(), timesMs: [] }
}
