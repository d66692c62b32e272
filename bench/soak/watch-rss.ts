import { readFileSync } from 'node:fs'

/** In bytes. */
export type RssWatch = {
  readonly peakBytes: number
  stop(): void
}

const POLL_INTERVAL_MS = 50

/** Works only on Linux. Bytes. */
function readRss(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024
}

/** Samples the resident memory of a process every 50 ms until `stop()` is called. */
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
