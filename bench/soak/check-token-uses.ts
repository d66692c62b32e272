import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import type { TokenUse } from './token-traffic.ts'

/** Facts that decide whether a response was right. */
export type TokenRules = {
  /** Streams of invalid tokens. All other streams have valid tokens. */
  readonly bad: ReadonlySet<string>
  /** Time of the revocation of each token. Milliseconds since the epoch. */
  readonly revokedAtMs: ReadonlyMap<string, number>
}

const PASSED = 200
/** Within this time, a pushed revocation reaches every gateway. Milliseconds. */
const REVOKED_AFTER_MS = 1_000

/** Returns the requests that clients sent between two times. The times are milliseconds since the epoch. */
export function usesWithin(uses: readonly TokenUse[], fromMs: number, toMs: number): readonly TokenUse[] {
  return uses.filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
}

/**
 * Returns whether the outcome of a request was right. Returns undefined shortly before and after a revocation, because
 * two outcomes are then right.
 */
export function checkUse(
  { stream, token, status, atMs }: TokenUse,
  { bad, revokedAtMs }: TokenRules,
): 'right' | 'wrong allow' | 'failure' | undefined {
  const revokedMs = revokedAtMs.get(token)
  if (revokedMs !== undefined && atMs >= revokedMs - REVOKED_AFTER_MS && atMs < revokedMs + REVOKED_AFTER_MS)
    return undefined
  const isGood = !bad.has(stream) && (revokedMs === undefined || atMs < revokedMs)
  if (isGood) return status === PASSED ? 'right' : 'failure'
  return status === PASSED ? 'wrong allow' : 'right'
}

export function measuredUses(
  phase: string,
  uses: readonly TokenUse[],
  rules: TokenRules,
): readonly Measurement[] {
  const checked = uses.map((use) => ({ use, outcome: checkUse(use, rules) }))
  const count = (outcome: string, isJwt?: boolean): number =>
    checked.filter(
      (one) => one.outcome === outcome && (isJwt === undefined || one.use.stream.startsWith('JWT') === isJwt),
    ).length
  return [
    measuredCount(`${phase}: of ${uses.length} requests, wrong allows`, count('wrong allow'), 0),
    measuredCount(`${phase}: failures of JWT routes`, count('failure', true), 0),
    measuredCount(`${phase}: failures of other routes`, count('failure', false), 0),
  ]
}

/**
 * For each stream, returns how much a fault increases the 99th percentile of the latency. The function compares the
 * gateways with the fault and a gateway without the fault. All gateways run at the same time, so that other load
 * affects all gateways equally.
 */
export function measuredAdded(
  phase: string,
  uses: readonly TokenUse[],
  own: { readonly isControl: (use: TokenUse) => boolean; readonly limitMs: number | undefined },
): readonly Measurement[] {
  return [...Map.groupBy(uses, ({ stream }) => stream)].map(([stream, all]) => {
    const p99Ms = p99Of(all.filter((use) => !own.isControl(use)))
    const addedMs = p99Ms - p99Of(all.filter(own.isControl))
    return {
      what: `${phase}: p99 and added latency: ${stream}`,
      measured: `${p99Ms.toFixed(1)} ms, ${addedMs.toFixed(1)} ms`,
      limit: own.limitMs === undefined ? 'none' : `<= ${own.limitMs} ms`,
      passed: own.limitMs === undefined ? undefined : addedMs <= own.limitMs,
    }
  })
}

function p99Of(uses: readonly TokenUse[]): number {
  return readPercentile(
    uses.map(({ tookMs }) => tookMs),
    0.99,
  )
}
