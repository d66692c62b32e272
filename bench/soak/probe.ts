import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'

/** The results of a normal client while a test overloads the gateway or its upstream in another way. */
export type ProbeResult = {
  /** Time of each request until the last byte of the response. Milliseconds. */
  readonly times: readonly number[]
  /** The reasons for missing or incomplete responses. */
  readonly failures: readonly string[]
}

/** A normal client that sends requests until `stop()`. */
export type Probe = { stop(): Promise<ProbeResult> }

/**
 * Requests a URL, one request after the other. A separate thread sends the requests, so that the load of this process
 * does not delay the requests.
 */
export function startProbe(url: string): Probe {
  const worker = new Worker(new URL('./probe-worker.ts', import.meta.url), { workerData: url })
  return {
    async stop() {
      const result = once(worker, 'message')
      worker.postMessage('stop')
      const [given] = (await result) as [ProbeResult]
      return given
    },
  }
}

/** Returns the number of failures and the 99th percentile of the times, and their limits. */
export function measuredProbe(what: string, result: ProbeResult, limitMs?: number): readonly Measurement[] {
  const p99Ms = readPercentile(result.times, 0.99)
  return [
    measuredCount(`${what}: of ${result.times.length} healthy requests, failed`, result.failures.length, 0),
    {
      what: `${what}: p99 of a healthy request`,
      measured: `${p99Ms.toFixed(1)} ms`,
      limit: limitMs === undefined ? 'none' : `<= ${limitMs.toFixed(1)} ms`,
      passed: limitMs === undefined ? undefined : p99Ms <= limitMs,
    },
  ]
}
