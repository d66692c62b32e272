import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { Resource } from '../../policy-engine/match/resources.ts'
import type { AccessEntry } from './access-log.ts'

/** References to the data of a finished request. The console formats a record only for a page. */
export type DecisionRecord = {
  readonly entry: AccessEntry
  readonly rejection: Rejection | undefined
  /** The denial that audit-only mode did not apply. */
  readonly auditOnlyDenial: Rejection | undefined
  /** The matched route of a policy. */
  readonly policy: PolicyRoute | undefined
  /** Undefined for bytes that are not a valid request. */
  readonly resource: Resource | undefined
  /** Scheme of the token, which is also the scheme of the challenge. */
  readonly credential: 'bearer' | 'dpop'
  /** Length of the texts that the client has chosen. */
  readonly textLength: number
}

/**
 * Records decisions for the console: rejections, and the denials of audit-only mode. While a page of the console shows
 * decisions, also allowed requests.
 */
export type DecisionRecorder = {
  /** Whether a page of the console shows decisions, so that also allowed requests are recorded. */
  isWatched: boolean
  add(record: DecisionRecord): void
  /** Number of records. */
  readonly size: number
  /** All records, in the order of their ends, the newest first. */
  newestFirst(): Generator<DecisionRecord, void, void>
  /** Number of allowed requests since the start that the limit per second left out. */
  readonly leftOut: number
}

/** Maximum number of records of a ring. A ring evicts its oldest records. */
const RING_RECORDS = 1_000
/** Maximum total length of the texts of a ring. Characters. */
const RING_TEXT_LENGTH = 1024 * 1024
/** Maximum number of allowed requests that a process records per second. */
const ALLOWED_PER_SECOND = 200

export function createDecisionRecorder(tickMs: () => number): DecisionRecorder {
  // A flood of requests without a valid token does not evict the denials of known callers.
  const rings = { known: createRing(), unknown: createRing(), allowed: createRing() }
  const all = Object.values(rings)
  let secondStartMs = 0
  let allowedInSecond = 0
  let leftOut = 0

  /** Returns whether the limit of this second includes one more allowed request. */
  function isWithinLimit(): boolean {
    const nowMs = tickMs()
    if (nowMs - secondStartMs >= 1_000) {
      secondStartMs = nowMs
      allowedInSecond = 0
    }
    allowedInSecond += 1
    return allowedInSecond <= ALLOWED_PER_SECOND
  }

  return {
    isWatched: false,
    get leftOut() {
      return leftOut
    },
    add(record) {
      if (record.rejection !== undefined || record.auditOnlyDenial !== undefined)
        (record.entry.caller === undefined ? rings.unknown : rings.known).add(record)
      else if (isWithinLimit()) rings.allowed.add(record)
      else leftOut += 1
    },
    get size() {
      return all.reduce((sum, { size }) => sum + size, 0)
    },
    *newestFirst() {
      const ages = all.map(() => 0)
      while (true) {
        let newest: DecisionRecord | undefined
        let from = 0
        for (const [index, ring] of all.entries()) {
          const record = ring.at(ages[index] ?? 0)
          if (record === undefined || (newest !== undefined && endOf(record) < endOf(newest))) continue
          newest = record
          from = index
        }
        if (newest === undefined) return
        ages[from] = (ages[from] ?? 0) + 1
        yield newest
      }
    },
  }
}

/** The last records, limited by their number and by the total length of their texts. */
function createRing() {
  const records = new Array<DecisionRecord | undefined>(RING_RECORDS)
  let first = 0
  let count = 0
  let textLength = 0

  function evict(): void {
    textLength -= records[first]?.textLength ?? 0
    records[first] = undefined
    first = (first + 1) % RING_RECORDS
    count -= 1
  }

  return {
    add(record: DecisionRecord): void {
      if (count === RING_RECORDS) evict()
      records[(first + count) % RING_RECORDS] = record
      count += 1
      textLength += record.textLength
      while (textLength > RING_TEXT_LENGTH && count > 1) evict()
    },
    get size() {
      return count
    },
    /** Returns a record by its age; 0 is the newest record. */
    at: (age: number): DecisionRecord | undefined =>
      age < count ? records[(first + count - 1 - age) % RING_RECORDS] : undefined,
  }
}

function endOf({ entry }: DecisionRecord): number {
  return entry.timeMs + entry.durationMs
}
