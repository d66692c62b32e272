import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { BenchError } from './bench-error.ts'
import type { BenchProcess } from './start-process.ts'

const ATTEMPTS = 100
const PAUSE_MS = 20

/**
 * Waits until a program accepts a connection on a loopback port. Use this function if a program cannot report that it
 * listens.
 * @throws {BenchError} ERR_BENCH_START when the program accepts no connection within 2 s, or ends first.
 */
export async function waitForPort(started: BenchProcess, port: number): Promise<void> {
  const failed = (complaints: string): never => {
    throw new BenchError('ERR_BENCH_START', `${started.name} is not running: ${complaints}`)
  }
  await Promise.race([connected(port, failed), started.ended.then(failed)])
}

async function connected(port: number, failed: (complaints: string) => never): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const accepted = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (accepted) return
    await delay(PAUSE_MS)
  }
  failed('it accepts no connections')
}
