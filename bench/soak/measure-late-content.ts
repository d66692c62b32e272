import { Agent, request } from 'node:http'
import { type Measurement, measuredCount } from './measurement.ts'
import { LATE_CONTENT, type LateContent } from './start-late-content-upstream.ts'

export type LateContentOptions = {
  /** The URL of the gateway. */
  readonly url: string
  /** Number of responses with late content. A correct response follows each of these responses. */
  readonly calls: number
  readonly concurrency: number
}

type Response = { readonly status: number; readonly nonce: string; readonly text: string }

/**
 * Requests responses with late content, and one correct response after each of these responses. Counts the responses
 * that contain a byte of another response.
 */
export async function measureLateContent(options: LateContentOptions): Promise<readonly Measurement[]> {
  const { url, calls, concurrency } = options
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
  const kinds = Object.keys(LATE_CONTENT) as LateContent[]
  let started = 0
  let responses = 0
  let mixed = 0
  let unexpected = 0

  async function check(nonce: string, kind: LateContent | undefined): Promise<void> {
    const response = await send(url, agent, nonce, kind)
    responses += 1
    if (response.text.includes('stray') || !['', nonce].includes(response.nonce)) mixed += 1
    else if (!isExpected(response, nonce, kind)) unexpected += 1
  }
  async function converse(): Promise<void> {
    while (started < calls) {
      const call = started++
      await check(`${call}-late`, kinds[call % kinds.length])
      await check(`${call}-next`, undefined)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, converse))
  agent.destroy()
  return [
    { what: 'responses', measured: String(responses), limit: 'none', passed: undefined },
    measuredCount('responses with a byte of another one', mixed, 0),
    measuredCount('other unexpected responses', unexpected, 0),
  ]
}

/** Status 0: the connection ended without a response. */
function send(url: string, agent: Agent, nonce: string, kind: LateContent | undefined): Promise<Response> {
  const query = new URLSearchParams(kind === undefined ? { n: nonce } : { n: nonce, kind })
  const method = kind === undefined ? 'GET' : LATE_CONTENT[kind].method
  return new Promise((resolve) => {
    const outgoing = request(`${url}/pub/late?${query}`, { method, agent }, (response) => {
      let text = ''
      response.setEncoding('latin1').on('data', (piece: string) => (text += piece))
      const end = (): void =>
        resolve({
          status: response.statusCode ?? 0,
          nonce: String(response.headers['x-nonce'] ?? ''),
          text,
        })
      response.on('error', end).on('end', end)
    })
    outgoing.on('error', () => resolve({ status: 0, nonce: '', text: '' }))
    outgoing.end()
  })
}

function isExpected({ status, nonce, text }: Response, own: string, kind: LateContent | undefined): boolean {
  if (kind === undefined) return status === 200 && nonce === own && text === own
  const announced = Number(LATE_CONTENT[kind].status.slice(0, 3))
  // After an interim response with content, the start of the final response is ambiguous. The gateway responds with
  // 502.
  if (announced < 200) return status === 502 && nonce === ''
  return status === announced && nonce === own && text === ''
}
