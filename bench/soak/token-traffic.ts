import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Requests of one kind. Each request goes to the next URL with the next token. */
export type TokenStream = {
  readonly name: string
  readonly urls: readonly string[]
  readonly tokens: readonly string[]
}

/** The streams alternate. `perSecond` is the total number of requests per second. */
export type TokenTrafficOptions = { readonly streams: readonly TokenStream[]; readonly perSecond: number }

/** Status 0: no complete response. Times are in milliseconds. `atMs` counts from the epoch. */
export type TokenUse = {
  readonly stream: string
  readonly url: string
  readonly token: string
  readonly status: number
  readonly atMs: number
  readonly tookMs: number
}

export type TokenTraffic = { stop(): Promise<readonly TokenUse[]> }

/**
 * Sends requests at a steady rate. A separate thread sends the requests, so that other work of this process does not
 * delay the requests.
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
