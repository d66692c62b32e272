import { connect } from 'node:net'

export type LoadCounts = {
  answered: number
  /** Failures by kind. The kind is an error code, `closed` without a response, or a status other than 200. */
  readonly failed: Map<string, number>
  /** Number of opened connections. */
  opened: number
}

/** A load that continues until `stop()`. */
export type KeepAliveLoad = {
  readonly counts: LoadCounts
  /** Resolves when the sum of answered and failed requests reaches this number. */
  reached(requests: number): Promise<void>
  /** Waits for the open requests. Then closes the connections. */
  stop(): Promise<void>
}

export type KeepAliveLoadOptions = {
  readonly url: string
  /** Connections that send one request after the other. */
  readonly busy: number
  /**
   * Connections that pause between requests for different times. When a server ends, some of these connections are
   * therefore always idle.
   */
  readonly pausing: number
  /** Connections for only one request. */
  readonly fleeting: number
}

const LONGEST_PAUSE_MS = 400
const HEAD_END = '\r\n\r\n'

type Client = { readonly pausesMs: number; readonly staysOpen: boolean }

/**
 * Simulates a load balancer with keep-alive connections. Closes a connection after a response with `connection: close`,
 * and repeats no request. A request without a complete response with status 200 is a failure.
 */
export function startKeepAliveLoad(options: KeepAliveLoadOptions): KeepAliveLoad {
  const counts: LoadCounts = { answered: 0, failed: new Map(), opened: 0 }
  const { hostname, port, host } = new URL(options.url)
  const request = `GET /pub/soak HTTP/1.1\r\nhost: ${host}\r\n\r\n`
  const last = `GET /pub/soak HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`
  const waiting: { readonly requests: number; readonly resolve: () => void }[] = []
  const ended: Promise<void>[] = []
  let done = 0
  let stopping = false

  function settled(failure?: string): void {
    done += 1
    if (failure === undefined) counts.answered += 1
    else counts.failed.set(failure, (counts.failed.get(failure) ?? 0) + 1)
    for (const one of waiting) if (done >= one.requests) one.resolve()
  }

  function converse(client: Client): Promise<void> {
    counts.opened += 1
    return new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      let received = ''
      let asking = true
      let pause: NodeJS.Timeout | undefined
      const ask = (): void => {
        asking = !stopping
        if (stopping) {
          socket.end()
          return
        }
        socket.write(client.staysOpen ? request : last)
      }
      const fail = (what: string): void => {
        if (asking) settled(what)
        asking = false
        socket.destroy()
      }
      socket.setEncoding('latin1')
      socket.on('connect', ask)
      socket.on('data', (text: string) => {
        received += text
        const headEnd = received.indexOf(HEAD_END)
        if (headEnd === -1) return
        const head = received.slice(0, headEnd)
        const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1])
        if (received.length < headEnd + HEAD_END.length + length) return
        received = ''
        asking = false
        settled(head.startsWith('HTTP/1.1 200 ') ? undefined : `status ${head.slice(9, 12)}`)
        if (/^connection: *close/im.test(head)) socket.end()
        else if (client.pausesMs === 0) ask()
        else pause = setTimeout(ask, Math.random() * client.pausesMs)
      })
      socket.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'error'))
      socket.on('end', () => fail('closed'))
      socket.on('close', () => {
        clearTimeout(pause)
        resolve()
      })
    })
  }

  async function run(client: Client): Promise<void> {
    while (!stopping) await converse(client)
  }

  const start = (count: number, client: Client): void => {
    for (let one = 0; one < count; one++) ended.push(run(client))
  }
  start(options.busy, { pausesMs: 0, staysOpen: true })
  start(options.pausing, { pausesMs: LONGEST_PAUSE_MS, staysOpen: true })
  start(options.fleeting, { pausesMs: 0, staysOpen: false })

  return {
    counts,
    reached: (requests) =>
      new Promise((resolve) => {
        if (done >= requests) resolve()
        else waiting.push({ requests, resolve })
      }),
    async stop() {
      stopping = true
      await Promise.all(ended)
    },
  }
}
