import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'

/** The results of a well-behaved client beside misbehaving clients. */
export type ProbeResult = {
  /** Of each request, until the last byte. Milliseconds. */
  readonly times: readonly number[]
  /** Why a request got no whole answer of 200, once for each. */
  readonly failures: readonly string[]
}

/** A client that behaves well, until it is stopped. */
export type Probe = { stop(): Promise<ProbeResult> }

/** Begins to ask for an address, one request after the other. In a thread of its own: the measuring side's load is not measured. */
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

/** That none of them failed, and how long nearly all of them took, beside a bar where there is one. */
export function measuredProbe(what: string, result: ProbeResult, barMs?: number): readonly Measurement[] {
  const p99Ms = readPercentile(result.times, 0.99)
  return [
    measuredCount(`${what}: of ${result.times.length} healthy requests, failed`, result.failures.length, 0),
    {
      what: `${what}: p99 of a healthy request`,
      measured: `${p99Ms.toFixed(1)} ms`,
      bar: barMs === undefined ? 'none' : `<= ${barMs.toFixed(1)} ms`,
      held: barMs === undefined ? undefined : p99Ms <= barMs,
    },
  ]
}
