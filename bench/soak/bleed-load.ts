import { connect } from 'node:net'
import { type NonceRequest, nonceRequest } from './nonce-request.ts'
import { randomBelow } from './random.ts'
import { repeatNonce } from './repeat-nonce.ts'
import { type ParsedResponse, ResponseReader } from './response-reader.ts'

export type BleedCounts = {
  /** Started requests, with any outcome. */
  requests: number
  /** Requests with a complete response. */
  answered: number
  /**
   * Number of requests without a complete response, because the client disconnected. The client was sending, waiting
   * for the response, or receiving the response.
   */
  readonly left: { sending: number; waiting: number; receiving: number }
  /**
   * Nonces of pipelined requests without a response, because an earlier response had `connection: close`. The gateway
   * must not have forwarded these requests.
   */
  readonly putOff: string[]
  /** Complete or partial responses that do not belong to their request. Also counts unexpected bytes. */
  mismatches: number
  /** The first mismatches. */
  readonly examples: string[]
  /** Requests whose connection ended before their response, by kind of failure. */
  readonly failed: Map<string, number>
  connections: number
}

const EXAMPLES = 10
const MOST_AT_ONCE = 3
/**
 * Probability that the client disconnects during an exchange. A third of these clients disconnect while they send, a
 * third after some received bytes, and a third after some time.
 */
const SHARE_LEFT = 0.25
const MAX_DISCONNECT_DELAY_MS = 25

/** Sends requests on keep-alive connections. Some clients disconnect at a random byte. */
export async function bleedLoad(options: {
  readonly url: string
  readonly requests: number
  readonly clients: number
  readonly counts: BleedCounts
}): Promise<void> {
  const { url, requests, clients, counts } = options
  async function client(): Promise<void> {
    while (counts.requests < requests) await converse(new URL(url), requests, counts)
  }
  await Promise.all(Array.from({ length: clients }, client))
}

export function noCounts(): BleedCounts {
  return {
    requests: 0,
    answered: 0,
    left: { sending: 0, waiting: 0, receiving: 0 },
    putOff: [],
    mismatches: 0,
    examples: [],
    failed: new Map(),
    connections: 0,
  }
}

function converse({ hostname, port, host }: URL, limit: number, counts: BleedCounts): Promise<void> {
  counts.connections += 1
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    let reader = new ResponseReader()
    let expected: NonceRequest[] = []
    let leavesAfterBytes = Number.POSITIVE_INFINITY
    let left = false

    const mismatch = (what: string): void => {
      counts.mismatches += 1
      if (counts.examples.length < EXAMPLES) counts.examples.push(what)
      leave()
    }
    const leave = (kind?: keyof BleedCounts['left']): void => {
      if (left) return
      left = true
      if (kind !== undefined) counts.left[kind] += expected.length
      const half = expected[0] === undefined ? undefined : reader.peek(expected[0].method)
      if (kind !== undefined && expected[0] !== undefined && half !== undefined) {
        const problem = problemOf(expected[0], half)
        if (problem !== undefined) mismatch(problem)
      }
      if (Math.random() < 0.5) socket.resetAndDestroy()
      else socket.destroy()
    }
    const end = (): void => {
      left = true
      socket.end()
    }
    const putOff = (): void => {
      for (const { nonce } of expected) counts.putOff.push(nonce)
      end()
    }
    const ask = (): void => {
      if (counts.requests >= limit) {
        end()
        return
      }
      reader = new ResponseReader()
      const count = Math.random() < 0.85 ? 1 : 1 + randomBelow(MOST_AT_ONCE)
      expected = Array.from({ length: count }, (_, at) => nonceRequest(counts.requests + at, host))
      counts.requests += count
      const text = expected.map((one) => one.text).join('')
      if (Math.random() < SHARE_LEFT / 3) {
        socket.write(text.slice(0, randomBelow(text.length)), 'latin1', () => leave('sending'))
        return
      }
      const fate = Math.random() / SHARE_LEFT
      const answers = expected.reduce((sum, one) => sum + one.responseBytes + 300, 0)
      leavesAfterBytes = fate < 0.33 ? randomBelow(answers) : Number.POSITIVE_INFINITY
      if (fate > 0.33 && fate < 0.66) setTimeout(() => leave('waiting'), randomBelow(MAX_DISCONNECT_DELAY_MS))
      const cut = Math.random() < 0.3 ? randomBelow(text.length) : 0
      socket.write(text.slice(0, cut), 'latin1', () => {
        if (!left) socket.write(text.slice(cut), 'latin1')
      })
    }
    socket.setEncoding('latin1')
    socket.on('connect', ask)
    socket.on('data', (text: string) => {
      reader.push(text)
      leavesAfterBytes -= text.length
      for (let one = expected[0]; one !== undefined; one = expected[0]) {
        const answer = reader.take(one.method)
        if (answer === undefined) break
        const problem = problemOf(one, answer)
        if (problem !== undefined) return mismatch(problem)
        counts.answered += 1
        expected.shift()
        if (answer.headers.get('connection') === 'close') return putOff()
      }
      if (leavesAfterBytes <= 0) leave('receiving')
      else if (expected.length > 0) return
      else if (reader.rest === '') ask()
      else mismatch(`unasked: ${JSON.stringify(reader.rest.slice(0, 200))}`)
    })
    const lost = (what: string): void => {
      if (!left) counts.failed.set(what, (counts.failed.get(what) ?? 0) + expected.length)
      left = true
      socket.destroy()
    }
    socket.on('error', (error: NodeJS.ErrnoException) => lost(error.code ?? 'error'))
    socket.on('end', () => lost('closed'))
    socket.on('close', () => resolve())
  })
}

/** Returns the reason why a complete or partial response does not belong to a request. Otherwise returns undefined. */
function problemOf(request: NonceRequest, answer: ParsedResponse): string | undefined {
  const { nonce, method, responseBytes } = request
  const { status, headers, body, state } = answer
  const right =
    status === 200 &&
    headers.get('x-nonce') === nonce &&
    state !== 'until_close' &&
    (state === 'part' || body.length === responseBytes) &&
    body === repeatNonce(nonce, body.length) &&
    body.length <= responseBytes
  if (right) return undefined
  return `${method} ${nonce}, ${responseBytes} bytes: ${status} ${headers.get('x-nonce')}, ${state}, ${body.length} bytes: ${JSON.stringify(body.slice(0, 100))}`
}
