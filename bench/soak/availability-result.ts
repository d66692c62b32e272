import type { RevocationTime, Use, UseKind } from './availability-load.ts'
import type { FaultEnd } from './availability-stores.ts'

/**
 * The faults in the order of the trial. The failover of PostgreSQL must be the last fault, because it leaves no
 * standby.
 */
export const FAULTS = [
  'none',
  'restart',
  'kill',
  'freeze',
  'partition',
  'servers-frozen',
  'rolling',
  'servers-away',
  'failover',
] as const

export type FaultName = (typeof FAULTS)[number]

/** The outcome of one fault. */
export type FaultResult = {
  readonly fault: FaultName
  readonly requests: number
  readonly failedKnown: number
  readonly failedNew: number
  /**
   * Wrongly accepted requests: requests with a token without the scope, and requests with a revoked token after the
   * maximum delay of its revocation.
   */
  readonly wrongDecisions: number
  readonly lostGrants: number
  /** False if a new primary can lack the last writes. The trial then permits lost grants. */
  readonly isDurable: boolean
  /** Time from the end of the fault until every kind of request works. Undefined after the time limit. */
  readonly recoveryMs: number | undefined
  /**
   * Time from the promotion of the new primary to the first successful refresh of a client after a failed refresh. 0 if
   * no refresh failed. Infinity if no such client succeeded. Undefined without a failover.
   */
  readonly writesMs: number | undefined
  /** Times of the revocations while all revocation channels were open. Milliseconds. */
  readonly revocationsMs: readonly number[]
  /** Number of uses by kind and status. */
  readonly statuses: Readonly<Record<string, number>>
}

/** Times are milliseconds of `performance.now()`. */
export type Phase = FaultEnd & {
  readonly fault: FaultName
  readonly startedMs: number
  /** Time after the fault at which the revocation channels of all gateways were open. */
  readonly openMs: number
}

/**
 * Maximum time until a gateway rejects a revoked token, with an open revocation channel: `tokenCache.ttlWithoutPush`.
 */
const BOUND_MS = 5_000
/**
 * Maximum time until a gateway rejects a revoked token, without a channel and without introspection. The time is
 * `tokenCache.maxTtl` plus `staleIfError`. `jwt.maxRevocationDelay` is shorter.
 */
const OUTAGE_BOUND_MS = 210_000
const MEASURED_KINDS: readonly UseKind[] = ['known', 'new', 'refresh', 'revoke']
const SUCCESS: Readonly<Record<UseKind, number>> = {
  known: 201,
  new: 201,
  denied: 403,
  revoked: 401,
  refresh: 200,
  revoke: 200,
}
const ACCEPTED = 201
const INVALID_GRANT = 400

export function summarize(
  uses: readonly Use[],
  revocations: readonly RevocationTime[],
  phase: Phase,
): Omit<FaultResult, 'isDurable'> {
  const failed = (kind: UseKind): number => uses.filter((use) => use.kind === kind && !succeeded(use)).length
  const statuses: Record<string, number> = {}
  for (const { kind, status } of uses)
    statuses[`${kind} ${status}`] = (statuses[`${kind} ${status}`] ?? 0) + 1
  return {
    fault: phase.fault,
    requests: uses.length,
    failedKnown: failed('known'),
    failedNew: failed('new'),
    wrongDecisions: uses.filter((use) => isWrong(use, phase)).length,
    lostGrants: uses.filter(({ kind, status }) => kind === 'refresh' && status === INVALID_GRANT).length,
    recoveryMs: recoveryOf(uses, phase.endedMs),
    writesMs: writesAfter(uses, phase.newPrimaryMs),
    revocationsMs: timesOf(revocations, phase),
    statuses,
  }
}

/** Returns whether each kind of request with a valid token or grant occurred and succeeded. */
export function isCalm(uses: readonly Use[]): boolean {
  return MEASURED_KINDS.every((kind) => {
    const own = uses.filter((use) => use.kind === kind)
    return own.length > 0 && own.every(succeeded)
  })
}

export function succeeded({ kind, status }: Use): boolean {
  return status === SUCCESS[kind]
}

/** Returns whether a gateway accepted a token without the scope, or a revoked token after the maximum delay. */
export function isWrong(
  { kind, status, sentMs, gateway, acknowledgedMs = Infinity }: Use,
  phase: Phase,
): boolean {
  if (status !== ACCEPTED) return false
  if (kind === 'denied') return true
  if (kind !== 'revoked' || sentMs <= acknowledgedMs + BOUND_MS) return false
  const isAffected =
    phase.fault !== 'none' &&
    (phase.affectedGateway === undefined || phase.affectedGateway === gateway) &&
    acknowledgedMs > phase.startedMs - BOUND_MS &&
    acknowledgedMs < phase.openMs
  if (!isAffected) return true
  return sentMs > phase.openMs + BOUND_MS || sentMs > acknowledgedMs + OUTAGE_BOUND_MS
}

/** Returns the time from the end of the fault until every kind of request has succeeded after its last failure. */
function recoveryOf(uses: readonly Use[], endedMs: number): number | undefined {
  let recoveredMs = endedMs
  for (const kind of MEASURED_KINDS) {
    const own = uses.filter((use) => use.kind === kind)
    const lastFailureMs = Math.max(...own.filter((use) => !succeeded(use)).map(({ sentMs }) => sentMs))
    if (lastFailureMs === -Infinity) continue
    const later = own.filter((use) => succeeded(use) && use.sentMs > lastFailureMs)
    if (later.length === 0) return undefined
    recoveredMs = Math.max(recoveredMs, Math.min(...later.map(({ endMs }) => endMs)))
  }
  return recoveredMs - endedMs
}

/** Returns the time from the new primary to the first successful refresh of a client after a failed refresh. */
function writesAfter(uses: readonly Use[], newPrimaryMs: number | undefined): number | undefined {
  if (newPrimaryMs === undefined) return undefined
  const refreshes = uses.filter(({ kind }) => kind === 'refresh')
  const times = [...Map.groupBy(refreshes, ({ sequence }) => sequence).values()].flatMap((own) =>
    own.flatMap((use, index) => {
      const previous = own[index - 1]
      const isFirst = previous !== undefined && !succeeded(previous) && succeeded(use)
      return isFirst && use.endMs > newPrimaryMs ? [use.endMs - newPrimaryMs] : []
    }),
  )
  if (times.length > 0) return Math.min(...times)
  return refreshes.every(succeeded) ? 0 : Infinity
}

/** Returns the times of the revocations that began and ended while all channels were open. */
function timesOf(times: readonly RevocationTime[], phase: Phase): readonly number[] {
  return times
    .filter(
      ({ acknowledgedMs, tookMs }) =>
        phase.fault === 'none' || acknowledgedMs + tookMs < phase.startedMs || acknowledgedMs > phase.openMs,
    )
    .map(({ tookMs }) => tookMs)
}
