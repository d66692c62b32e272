import { request } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type Measurement, measuredCount, measuredRss } from './measurement.ts'
import { pieces } from './start-body-upstream.ts'
import type { SoakGateway } from './start-soak-gateway.ts'
import { watchRss } from './watch-rss.ts'

const LIMIT_MIB = 400

/** Sends a large request body. Then receives a large response body. */
export async function measureBigBodies(gateway: SoakGateway, bytes: number): Promise<readonly Measurement[]> {
  const up = watchRss(gateway.process.pid)
  const arrived = Number(await send(gateway.url, bytes))
  up.stop()
  const down = watchRss(gateway.process.pid)
  const taken = await take(`${gateway.url}/pub/down?bytes=${bytes}`)
  down.stop()
  const gib = `${(bytes / 1_024 ** 3).toFixed(2)} GiB`
  return [
    measuredRss(`${gib} up`, up.peakBytes, LIMIT_MIB),
    measuredCount(`${gib} up: bytes at the upstream`, arrived, bytes),
    measuredRss(`${gib} down`, down.peakBytes, LIMIT_MIB),
    measuredCount(`${gib} down: bytes at the client`, taken, bytes),
  ]
}

async function send(url: string, bytes: number): Promise<string> {
  const outgoing = request(`${url}/pub/up`, { method: 'PUT', headers: { 'content-length': bytes } })
  const answer = new Promise<string>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => resolve(text)).on('error', reject)
    })
  })
  await pipeline(pieces(bytes), outgoing)
  return answer
}

async function take(url: string): Promise<number> {
  const response = await fetch(url)
  let bytes = 0
  for await (const piece of response.body ?? []) bytes += piece.length
  return bytes
}
