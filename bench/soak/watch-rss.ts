import { readFileSync } from 'node:fs'

/** Memory use of a process over time. Bytes. */
export type RssWatch = {
  readonly peakBytes: number
  stop(): void
}

const POLL_INTERVAL_MS = 50

/** Returns the current resident memory of a process (Linux). Bytes. */
function readRss(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
}

/** Samples the resident memory of a process periodically until it is stopped. */
export function watchRss(pid: number): RssWatch {
  let peakBytes = readRss(pid)
  const timer = setInterval(() => {
    peakBytes = Math.max(peakBytes, readRss(pid))
  }, POLL_INTERVAL_MS)
  return {
    get peakBytes() {
      return peakBytes
    },
    stop: () => clearInterval(timer),
  }
}
