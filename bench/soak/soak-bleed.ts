import type { Cleanup } from '../cleanup.ts'
import { type BleedCounts, bleedLoad, noCounts } from './bleed-load.ts'
import { type NonceUpstream, startNonceUpstream } from './start-nonce-upstream.ts'
import { startSoakGateway } from './start-soak-gateway.ts'

export type BleedSoak = {
  readonly counts: BleedCounts
  readonly upstream: Pick<NonceUpstream, 'requests' | 'problems' | 'repeated'>
  /**
   * Number of pipelined requests that the gateway forwarded, although an earlier response had closed their connection.
   */
  readonly unanswered: number
}

const CLIENTS = 48

/** Sends requests with a nonce through a gateway. Some clients disconnect at a random byte. */
export async function soakBleed(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly requests: number
  readonly onCounts?: (counts: BleedCounts) => void
  readonly everyMs?: number
}): Promise<BleedSoak> {
  const { folder, cleanup, requests, onCounts } = options
  const upstream = await startNonceUpstream(cleanup)
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream: upstream.url,
  })
  const counts = noCounts()
  const progress =
    onCounts === undefined ? undefined : setInterval(() => onCounts(counts), options.everyMs ?? 10_000)
  try {
    await bleedLoad({ url: gateway.url, requests, clients: CLIENTS, counts })
  } finally {
    clearInterval(progress)
  }
  return { counts, upstream, unanswered: counts.putOff.filter(upstream.saw).length }
}

/** Returns whether every response belonged to its request, and no other failure occurred. */
export function isBleedWithinLimits({ counts, upstream, unanswered }: BleedSoak): boolean {
  return (
    counts.mismatches === 0 &&
    counts.failed.size === 0 &&
    upstream.problems.length === 0 &&
    upstream.repeated === 0 &&
    unanswered === 0
  )
}
