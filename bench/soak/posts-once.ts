import { Agent, request } from 'node:http'
import { type Measurement, measuredCount } from './measurement.ts'
import type { CountingUpstream } from './start-counting-upstream.ts'

export type PostsOnceOptions = {
  readonly url: string
  readonly upstream: CountingUpstream
  readonly calls: number
  readonly concurrency: number
  /** Runs before each call, for example to cause another fault. */
  readonly beforeCall?: () => void
}

const BODY = JSON.stringify({ amount: 1 })

/**
 * Sends each POST once during a fault between gateway and upstream. The upstream must never execute a POST twice. If
 * the response to a POST has status 201, the upstream must have executed the POST.
 */
export async function measurePostsOnce(options: PostsOnceOptions): Promise<readonly Measurement[]> {
  const { url, upstream, calls, concurrency, beforeCall } = options
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const outcomes = new Map<string, string>()
  let next = 0
  async function converse(): Promise<void> {
    while (next < calls) {
      const call = `call-${next++}`
      beforeCall?.()
      outcomes.set(call, await post(url, call, agent))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, converse))
  agent.destroy()
  const executions = [...outcomes.keys()].map((call) => upstream.executed.get(call) ?? 0)
  const answered = [...outcomes].filter(([, outcome]) => outcome === '201')
  return [
    measuredCount('POSTs executed more than once', executions.filter((times) => times > 1).length, 0),
    measuredCount(
      'POSTs with 201 that were not executed',
      answered.filter(([call]) => upstream.executed.get(call) !== 1).length,
      0,
    ),
    measuredCount(
      'responses with 500',
      [...outcomes.values()].filter((outcome) => outcome === '500').length,
      0,
    ),
    ...tally(outcomes.values()),
  ]
}

/** @returns the status, or the reason why the response is incomplete. */
function post(url: string, call: string, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const headers = { 'x-call': call, 'content-type': 'application/json', 'content-length': BODY.length }
    const outgoing = request(`${url}/pub/orders`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('error', () => resolve('truncated'))
      response.on('end', () => {
        const isOwn = response.statusCode !== 201 || text.includes(`"${call}"`)
        resolve(isOwn ? String(response.statusCode) : 'response of another request')
      })
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    outgoing.end(BODY)
  })
}

function tally(outcomes: Iterable<string>): readonly Measurement[] {
  const counts = new Map<string, number>()
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return [...counts].map(([outcome, count]) => ({
    what: `calls that ended with ${outcome}`,
    measured: String(count),
    limit: 'none',
    passed: undefined,
  }))
}
