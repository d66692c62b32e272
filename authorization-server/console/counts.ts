import { setImmediate } from 'node:timers/promises'
import { ACCOUNT_CLIENT_ID } from '../config.ts'
import type { Store } from '../store/store.ts'

/** `isExact`: false if the store has more artifacts than {@link MAX_COUNTED}. */
export type Count = { readonly count: number; readonly isExact: boolean }

export type Counts = {
  readonly clients: Count
  readonly grants: Count
  readonly sessions: Count
  /** Counted grants by client ID. */
  readonly grantsOfClients: ReadonlyMap<string, number>
}

/** Counting stops at the end of the page of the store with this artifact. */
const MAX_COUNTED = 10_000
/** Counts stay in use for this time. Milliseconds. */
const FRESH_MS = 60_000

/** Counts the artifacts of the console at most once a minute. Concurrent calls share one count. */
export function createCounter(store: Pick<Store, 'artifacts'>, nowMs: () => number): () => Promise<Counts> {
  let counting: Promise<Counts> | undefined
  let countedAtMs = Number.NEGATIVE_INFINITY
  return () => {
    if (counting === undefined || nowMs() - countedAtMs >= FRESH_MS) {
      countedAtMs = nowMs()
      counting = countAll(store)
      counting.catch(() => {
        counting = undefined
      })
    }
    return counting
  }
}

async function countAll(store: Pick<Store, 'artifacts'>): Promise<Counts> {
  const grantsOfClients = new Map<string, number>()
  const clients = await countModel(store, 'Client', () => true)
  const sessions = await countModel(store, 'Session', ({ accountId }) => typeof accountId === 'string')
  const grants = await countModel(store, 'Grant', ({ clientId }) => {
    if (clientId === ACCOUNT_CLIENT_ID) return false
    grantsOfClients.set(String(clientId), (grantsOfClients.get(String(clientId)) ?? 0) + 1)
    return true
  })
  return { clients, sessions, grants, grantsOfClients }
}

async function countModel(
  store: Pick<Store, 'artifacts'>,
  model: string,
  counts: (payload: Readonly<Record<string, unknown>>) => boolean,
): Promise<Count> {
  let count = 0
  let cursor: string | undefined
  do {
    const page = await store.artifacts(model).list(cursor)
    count += page.listed.filter(({ payload }) => counts(payload)).length
    cursor = page.next
    if (cursor !== undefined && count >= MAX_COUNTED) return { count, isExact: false }
    await setImmediate() // SQLite calls are synchronous, so other requests run between two pages
  } while (cursor !== undefined)
  return { count, isExact: true }
}

/** Returns the count as text. */
export function countText({ count, isExact }: Count): string {
  return isExact ? String(count) : `more than ${MAX_COUNTED}`
}
