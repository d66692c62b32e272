import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Requests of one kind: each request goes to the next URL with the next token. */
export type TokenStream = {
  readonly name: string
  readonly urls: readonly string[]
  readonly tokens: readonly string[]
}

/** The streams, which alternate, and the total number of requests per second. */
export type TokenTrafficOptions = { readonly streams: readonly TokenStream[]; readonly perSecond: number }

/** One request and its outcome. Status 0: no complete response. Times are in milliseconds, `atMs` since the epoch. */
export type TokenUse = {
  readonly stream: string
  readonly url: string
  readonly token: string
  readonly status: number
  readonly atMs: number
  readonly tookMs: number
}

/** Traffic that continues until `stop()`. */
export type TokenTraffic = { stop(): Promise<readonly TokenUse[]> }

/**
 * Sends requests at a steady rate. A separate thread sends them, so that other work of this process does not delay
 * them.
 */
export function startTokenTraffic(options: TokenTrafficOptions): TokenTraffic {
  const worker = new Worker(new URL('./token-traffic-worker.ts', import.meta.url), { workerData: options })
  return {
    async stop() {
      const result = once(worker, 'message')
      worker.postMessage('stop')
      const [uses] = (await result) as [readonly TokenUse[]]
      return uses
    },
  }
}
