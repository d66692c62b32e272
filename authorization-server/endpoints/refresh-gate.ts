import { hash } from 'node:crypto'

/** Leave to use a refresh token. */
export type RefreshLease = {
  /** Waits, before the answer is written, until the requests that came along with this one have been met. */
  settle(): Promise<void>
  /** Ends the lease; the token may be presented again, and is then a reuse. */
  release(): void
}

/** Lets one request at a time use a refresh token. */
export type RefreshGate = {
  /** @returns the lease, or undefined when another request holds the token right now. */
  enter(refreshToken: string, clientId: string): RefreshLease | undefined
}

const QUIET_MS = 50 // a client's parallel requests arrive within a few milliseconds of each other
const LONGEST_HOLD_MS = 1_000
const TURNS = 3 // accept, read, dispatch: what has arrived already is met within three turns of the event loop

/**
 * Tells parallel uses of one refresh token from its reuse. A client that starts several refreshes at once gets one
 * successor, and the others are refused without harm; whoever presents the token after the successor was handed out
 * ends the family (docs/decisions/0002-parallel-refresh.md).
 * Cost: nothing for a refresh that comes alone; one with company is answered `QUIET_MS` after the last arrival.
 */
export function createRefreshGate(options: {
  /** Lets the event loop turn once. */
  readonly nextTurn: () => Promise<void>
  readonly wait: (ms: number) => Promise<void>
}): RefreshGate {
  const held = new Map<string, { company: number }>()
  return {
    enter: (refreshToken, clientId) => {
      const key = hash('sha256', `${clientId} ${refreshToken}`, 'base64url')
      const holder = held.get(key)
      if (holder !== undefined) {
        holder.company += 1
        return undefined
      }
      const lease = { company: 0 }
      held.set(key, lease)
      return {
        settle: async () => {
          for (let turn = 0; turn < TURNS; turn++) await options.nextTurn()
          let met = 0
          for (let held = 0; lease.company > met && held < LONGEST_HOLD_MS; held += QUIET_MS) {
            met = lease.company
            await options.wait(QUIET_MS)
          }
        },
        release: () => void held.delete(key),
      }
    },
  }
}
