// startTokenTraffic() starts this thread. Sends requests at a fixed rate until `stop()`, without waiting for responses.
// Uses the streams cyclically. Each stream uses its tokens cyclically.
import { Agent, get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { TokenTrafficOptions, TokenUse } from './token-traffic.ts'

const { streams, perSecond } = workerData as TokenTrafficOptions
const agent = new Agent({ keepAlive: true })
const uses: TokenUse[] = []
const underWay = new Set<Promise<void>>()
const sentOf = streams.map(() => 0)
let stopping = false
parentPort?.on('message', () => {
  stopping = true
})

const startedMs = performance.now()
for (let sent = 0; !stopping; ) {
  const due = ((performance.now() - startedMs) * perSecond) / 1_000
  for (; sent < due; sent++) send(sent % streams.length)
  await wait(1)
}
await Promise.all(underWay)
agent.destroy()
parentPort?.postMessage(uses)
parentPort?.close()

function send(index: number): void {
  const stream = streams[index] as TokenTrafficOptions['streams'][number]
  const turn = sentOf[index] ?? 0
  sentOf[index] = turn + 1
  const token = stream.tokens[turn % stream.tokens.length] ?? ''
  const url = stream.urls[turn % stream.urls.length] ?? ''
  const sentMs = performance.now()
  const answered = ask(url, token).then((status) => {
    const tookMs = performance.now() - sentMs
    uses.push({ stream: stream.name, url, token, status, atMs: performance.timeOrigin + sentMs, tookMs })
    underWay.delete(answered)
  })
  underWay.add(answered)
}

/** @returns the status of the response after its last byte, or 0 without a response. */
function ask(url: string, token: string): Promise<number> {
  return new Promise((resolve) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve(0))
    }).on('error', () => resolve(0))
  })
}
