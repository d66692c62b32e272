import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { childrenOf } from './roll-workers.ts'

const POLL_MS = 250
const STABLE_BYTES = 512 * 1_024
const STABLE_READS = 8
const MAX_READS = 80

/**
 * Returns the memory of a process and its children. A page that several processes share counts once (PSS). Works only on
 * Linux. Bytes.
 */
export function readMemory(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + readPss(each), 0)
}

/** Waits until the memory is stable, and returns it. Bytes. */
export async function readStableMemory(pid: number): Promise<number> {
  let lowest = readMemory(pid)
  let stable = 0
  for (let reads = 0; reads < MAX_READS && stable < STABLE_READS; reads++) {
    await wait(POLL_MS)
    const now = readMemory(pid)
    stable = now < lowest - STABLE_BYTES ? 0 : stable + 1
    lowest = Math.min(lowest, now)
  }
  return readMemory(pid)
}

function readPss(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1]) * 1_024
}
