import { connect } from 'node:net'
import type { Cleanup } from '../cleanup.ts'
import { randomBelow } from './random.ts'
import { ResponseReader } from './response-reader.ts'
import { startSoakGateway } from './start-soak-gateway.ts'
import { CUTS, type Cut, startTruncatingUpstream } from './start-truncating-upstream.ts'

/** Outcomes of truncated responses at the clients. */
export type TruncationCounts = {
  truncated: number
  /** Truncated responses that a client accepted as complete, by the kind of truncation. */
  readonly takenForWhole: Map<Cut, number>
  /**
   * Truncated responses that the client detected. `rejected` has status 502. With `broken`, the connection ended too
   * early.
   */
  readonly reported: { rejected: number; broken: number }
  /** Complete responses of the upstream. `notWhole` counts the responses that arrived incomplete. */
  whole: number
  notWhole: number
  /** Statuses that are neither 200 nor 502. */
  readonly others: Map<number, number>
}

const CLIENTS = 32
const LARGEST_BYTES = 40_000
const WHOLE: readonly Cut[] = ['complete, with Content-Length', 'complete, in chunks']

/**
 * Requests responses through a gateway, as an HTTP/1.1 client and as an HTTP/1.0 client. The upstream truncates
 * responses by the methods in CUTS. A complete response follows each truncated response.
 */
export async function soakTruncated(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly truncated: number
  readonly counts?: TruncationCounts
}): Promise<TruncationCounts> {
  const { folder, cleanup, truncated, counts = noTruncations() } = options
  const upstream = await startTruncatingUpstream(cleanup)
  const gateway = await startSoakGateway({
    folder,
    cleanup,
    upstream,
    upstreamSettings: { ejection: { failures: 1_000 } }, // an ejected upstream would truncate nothing
  })
  const cuts = (Object.keys(CUTS) as Cut[]).filter((cut) => !CUTS[cut].whole)
  async function client(): Promise<void> {
    while (counts.truncated < truncated) {
      const cut = cuts[counts.truncated % cuts.length] as Cut
      counts.truncated += 1
      note(counts, cut, await take(gateway.url, cut))
      const whole = WHOLE[randomBelow(WHOLE.length)] as Cut
      counts.whole += 1
      note(counts, whole, await take(gateway.url, whole))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return counts
}

export function noTruncations(): TruncationCounts {
  return {
    truncated: 0,
    takenForWhole: new Map(),
    reported: { rejected: 0, broken: 0 },
    whole: 0,
    notWhole: 0,
    others: new Map(),
  }
}

/** Returns whether the clients detected every truncated response and received every complete response. */
export function isTruncationWithinLimits({ takenForWhole, notWhole, others }: TruncationCounts): boolean {
  return takenForWhole.size === 0 && notWhole === 0 && others.size === 0
}

type Taken = {
  readonly status: number
  readonly bytes: number
  readonly asked: number
  readonly whole: boolean
}

function note(counts: TruncationCounts, cut: Cut, taken: Taken): void {
  const { status, whole, bytes, asked } = taken
  if (CUTS[cut].whole) {
    if (status !== 200 || !whole || bytes !== asked) counts.notWhole += 1
    return
  }
  if (status === 502) counts.reported.rejected += 1
  else if (!whole) counts.reported.broken += 1
  else if (status === 200) counts.takenForWhole.set(cut, (counts.takenForWhole.get(cut) ?? 0) + 1)
  else counts.others.set(status, (counts.others.get(status) ?? 0) + 1)
}

/** Sends one request on a new connection. Returns the response that the client reads. Status 0: no response. */
function take(url: string, cut: Cut): Promise<Taken> {
  const { hostname, port, host } = new URL(url)
  const version = Math.random() < 0.5 ? '1.1' : '1.0'
  const asked = 1 + randomBelow(LARGEST_BYTES)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    const reader = new ResponseReader()
    let ended = false
    socket.setEncoding('latin1')
    socket.write(
      `GET /pub/cut?cut=${encodeURIComponent(cut)}&bytes=${asked} HTTP/${version}\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    )
    socket.on('data', (text: string) => reader.push(text))
    socket.on('end', () => {
      ended = true
    })
    socket.on('error', () => undefined)
    socket.on('close', (hadError) => {
      const answer = reader.peek('GET')
      // Without a length, the end of the connection ends the body. A reset means that the body is incomplete.
      const whole = answer?.state === 'whole' || (answer?.state === 'until_close' && ended && !hadError)
      resolve({ status: answer?.status ?? 0, bytes: answer?.body.length ?? 0, asked, whole })
    })
  })
}
