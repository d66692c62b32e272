import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { BenchError } from '../bench-error.ts'
import type { Load, Target } from './load.ts'

const OK = 'HTTP/1.1 200 '

/**
 * Sends `perSecond` requests per second without waiting for responses. Opens keep-alive connections as necessary.
 * @returns the durations until the last byte of the response, in ascending order. Milliseconds.
 * @throws {BenchError} ERR_BENCH_ANSWERS if a connection fails, the status is not 200, or the expected body is missing.
 */
export async function runPaced(
  target: Target,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<readonly number[]> {
  const { hostname, port, pathname, host } = new URL(target.url)
  const fields = Object.entries({ host, ...target.headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `GET ${pathname} HTTP/1.1\r\n${fields.join('')}\r\n`
  const idle: Socket[] = []
  const all: Socket[] = []
  const latencies: number[] = []
  let failure: BenchError | undefined

  function send(): void {
    const socket = idle.pop() ?? open()
    const sentMs = performance.now()
    let answer = ''
    socket.on('data', function take(text: Buffer) {
      answer += text.toString('latin1')
      if (!OK.startsWith(answer.slice(0, OK.length))) failure = wrong(answer)
      if (!answer.endsWith(target.expectedBody)) return
      latencies.push(performance.now() - sentMs)
      socket.off('data', take)
      idle.push(socket)
    })
    socket.write(head)
  }

  function open(): Socket {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    socket.on('error', (cause) => {
      failure ??= new BenchError('ERR_BENCH_ANSWERS', `a connection to ${host} failed`, { cause })
    })
    all.push(socket)
    return socket
  }

  const startedMs = performance.now()
  let sent = 0
  try {
    for (let nowMs = 0; nowMs < seconds * 1_000; nowMs = performance.now() - startedMs) {
      for (const due = (nowMs * perSecond) / 1_000; sent < due; sent++) send()
      if (failure !== undefined) throw failure
      await wait(1)
    }
    for (let tries = 0; latencies.length < sent; tries++) {
      if (failure !== undefined) throw failure
      if (tries > 5_000) throw wrong(`${sent - latencies.length} responses are missing`)
      await wait(1)
    }
  } finally {
    for (const socket of all) socket.destroy()
  }
  return latencies.toSorted((a, b) => a - b)
}

function wrong(what: string): BenchError {
  return new BenchError('ERR_BENCH_ANSWERS', `unexpected response: ${what.slice(0, 200)}`)
}

/** Creates a load of `perSecond` requests per second in this process. */
export function createPacedLoad(perSecond: number): Load {
  return {
    name: `${perSecond} requests per second, in the process of the benchmark`,
    connections: 0,
    async run(target, seconds) {
      const startedMs = performance.now()
      const latencies = await runPaced(target, { perSecond, seconds })
      const elapsedMs = performance.now() - startedMs
      return { right: latencies.length, wrongStatus: 0, wrongBody: 0, broken: 0, elapsedMs }
    },
  }
}
