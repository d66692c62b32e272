import fc from 'fast-check'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { generateConversation, readMark, renderConversation } from '../fixtures/generated-conversation.ts'
import { holdConversation } from '../fixtures/hold-conversation.ts'
import { type StrictRequest, startStrictUpstream } from '../fixtures/strict-upstream.ts'

// FUZZ_FORWARD_RUNS sets the number of runs. The message of a failure contains a seed for FUZZ_FORWARD_SEED, which
// repeats the run.
const RUNS = Number(process.env['FUZZ_FORWARD_RUNS'] ?? 1_500)
const SEED = process.env['FUZZ_FORWARD_SEED']
const LIMIT_MS = 60_000 + RUNS * 50
/**
 * After a client has disconnected, its requests can arrive at the upstream during this number of later conversations.
 */
const LATE_CONVERSATIONS = 3

t.test(
  `${RUNS} connections: every accepted request is forwarded exactly once, and every forwarded request gets a response`,
  { timeout: LIMIT_MS },
  async (t) => {
    const upstream = await startStrictUpstream((request) => request % 3)
    t.teardown(() => upstream.close())
    const under = await startGatewayUnderTest(t, {
      change: (config) => ({
        ...config,
        upstreams: config.upstreams.map((one) =>
          one.name === 'api' ? { ...one, urls: [upstream.url] } : one,
        ),
      }),
    })
    const counts = { forwarded: 0, rejected: 0, ended: 0, reset: 0 }
    let number = 0
    let seen = 0
    let lastLeft = 0

    /** Returns the requests since the last call, without requests of clients that disconnected earlier. */
    function arrivedOf(current: number) {
      const fresh = upstream.requests.slice(seen)
      seen = upstream.requests.length
      const arrived = fresh.filter((one) => (markOf(one)?.conversation ?? current) === current)
      // If the header that identifies the client is damaged, the request may belong to a client that disconnected
      // earlier.
      const mayBeLate = current - lastLeft <= LATE_CONVERSATIONS
      const sure = arrived.filter((one) => !mayBeLate || markOf(one) !== undefined).length
      return { arrived, sure }
    }

    const property = fc.asyncProperty(generateConversation, async (conversation) => {
      number += 1
      const bytes = renderConversation(conversation, number)
      const { statuses, ended, reset } = await holdConversation(under.gateway.url, bytes, conversation)
      const { arrived, sure } = arrivedOf(number)
      if (ended || reset) lastLeft = number
      const accepted = statuses.filter((status) => status === 200).length
      counts.forwarded += arrived.length
      counts.rejected += statuses.length - accepted
      if (ended) counts.ended += 1
      if (reset) counts.reset += 1
      const outcome = `${arrived.length} forwarded, answers: ${statuses} for ${JSON.stringify(bytes)}`
      if (upstream.problems.length > 0) throw new Error(`not well-formed: ${upstream.problems}`)
      if (statuses.some((status) => status >= 500)) throw new Error(outcome)
      if (arrived.length < accepted) throw new Error(outcome)
      // When a client disconnects, at most one forwarded request has no response. The gateway never forwards the
      // pipelined requests after this request.
      if (!reset && sure > accepted + (ended ? 1 : 0)) throw new Error(outcome)
      inOrder(arrived)
    })
    await fc.assert(property, { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) })

    t.match(
      await under.raw('GET /pub/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 200 /,
      'the gateway still serves requests',
    )
    t.doesNotThrow(() => inOrder(upstream.requests), 'no request is forwarded twice or out of order')
    t.notMatch(under.logText(), /request_failed|"http.response.status_code":500/, 'no request failed')
    t.ok(counts.forwarded > RUNS / 4 && counts.rejected > RUNS / 4)
    t.comment(
      `${RUNS} connections: ${counts.forwarded} requests forwarded once, ${counts.rejected} rejected; clients that ended their side early ${counts.ended}, that reset ${counts.reset}`,
    )
  },
)

function markOf({ headers }: StrictRequest): ReturnType<typeof readMark> {
  return readMark(headers.find(([name]) => name === 'x-mark')?.[1] ?? '')
}

/** @throws {Error} if a request arrives twice, or before an earlier request of the same client. */
function inOrder(requests: readonly StrictRequest[]): void {
  const last = new Map<number, number>()
  for (const one of requests) {
    const mark = markOf(one)
    if (mark === undefined) continue
    if ((last.get(mark.conversation) ?? -1) >= mark.request)
      throw new Error(`forwarded twice, or before an earlier request: ${JSON.stringify(one.headers)}`)
    last.set(mark.conversation, mark.request)
  }
}
