import type { FastifyReply, FastifyRequest } from 'fastify'
import { writeRevocation } from '../../oauth/revocation.ts'
import type { LoggedRevocation, RevocationLog } from '../store/store.ts'
import { isGatewayClient } from './is-gateway-client.ts'
import { sendRefusal } from './oauth-refusal.ts'
import { createStreamListener, type StreamListener } from './stream-listener.ts'

/** What operators want to know of the streams: `reason` is for the log, `result` for the count. */
export type StreamEvent = {
  readonly result: 'ok' | 'invalid_client' | 'temporarily_unavailable' | 'cut'
  readonly reason: string
  /** The peer: a gateway, or who wants to be one. */
  readonly address: string
}

/** Tells gateways what was revoked, the moment it is gone. */
export type RevocationStream = {
  /** Handles `GET /internal/revocations`. */
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  readonly listeners: () => number
  /** Ends every stream; gateways reconnect elsewhere. */
  close(): void
}

const MOST_LISTENERS = 256
/** A gateway that hears nothing for three of these takes the connection for dead. */
const HEARTBEAT_MS = 5_000
/** Who missed more starts anew. */
const MOST_REPLAYED = 10_000

/**
 * Keeps the open streams, `text/event-stream`: `ready` first, `revoked` for each revocation by any process on the store, a
 * comment every 5 seconds. Each event has an id; who comes back with the last one in `Last-Event-ID` gets what it missed,
 * and `"resumed": true`. `reset` says that something may be missing. Callers authenticate as the gateway's client, with HTTP Basic.
 * Source: HTML Living Standard, section 9.2.
 */
export async function openRevocationStream(options: {
  readonly clientId: string
  readonly clientSecret: string
  readonly log: RevocationLog
  readonly onEvent: (event: StreamEvent) => void
}): Promise<RevocationStream> {
  const { log, onEvent } = options
  const listeners = new Set<StreamListener>()
  const isGateway = isGatewayClient(options)
  const sendAll = (text: string): void => {
    for (const listener of listeners) listener.send(text)
  }
  const endAll = (): void => {
    for (const listener of listeners) listener.end()
  }
  const unfollow = await log.follow({
    revoked: (logged) => sendAll(logged.map(revokedEvent).join('')),
    missed: () => sendAll('event: reset\ndata: {}\n\n'),
    // Who goes on hearing that we are still here would take silence for no revocations.
    lost: endAll,
  })
  const heartbeat = setInterval(() => sendAll(': still here\n\n'), HEARTBEAT_MS)
  heartbeat.unref()
  let closed = false

  async function listen(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const address = request.ip
    const listener = createStreamListener(reply.raw, () =>
      onEvent({ result: 'cut', reason: 'it does not read what it is told', address }),
    )
    // From now on it misses nothing; what comes before the answer has begun is held back.
    listeners.add(listener)
    reply.raw.on('close', () => listeners.delete(listener))
    const start = await readStart(log, lastEventId(request)).catch(() => undefined)
    if (start === undefined) {
      listeners.delete(listener)
      onEvent({ result: 'temporarily_unavailable', reason: 'the store does not answer', address })
      return unavailable(reply, 'The log of revocations does not answer right now.')
    }
    onEvent({ result: 'ok', reason: 'a gateway listens', address })
    reply.hijack()
    listener.begin(start)
    return reply
  }

  return {
    handle: async (request, reply) => {
      const address = request.ip
      if (!isGateway(request.headers.authorization)) {
        onEvent({ result: 'invalid_client', reason: "not the gateway's id and secret", address })
        return sendRefusal(reply, {
          status: 401,
          error: 'invalid_client',
          description: 'Authenticate with the client id and secret of the gateway.',
          challenge: 'Basic realm="revocations"',
        })
      }
      if (closed || listeners.size >= MOST_LISTENERS) {
        const reason = closed ? 'the service ends' : `all ${MOST_LISTENERS} places are taken`
        onEvent({ result: 'temporarily_unavailable', reason, address })
        return unavailable(reply, 'No more listeners are taken right now.')
      }
      return listen(request, reply)
    },
    listeners: () => listeners.size,
    close: () => {
      closed = true
      unfollow()
      clearInterval(heartbeat)
      endAll()
    },
  }
}

/** The first events of a stream. */
async function readStart(log: RevocationLog, after: string | undefined): Promise<string> {
  const missed = after === undefined ? undefined : await log.readAfter(after, MOST_REPLAYED)
  if (after !== undefined && missed !== undefined)
    return readyEvent(after, true) + missed.map(revokedEvent).join('')
  const ready = readyEvent(await log.lastId(), false)
  return after === undefined ? ready : `${ready}event: reset\ndata: {}\n\n`
}

function lastEventId(request: FastifyRequest): string | undefined {
  const value = request.headers['last-event-id']
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readyEvent(id: string, resumed: boolean): string {
  return `event: ready\nid: ${id}\ndata: ${JSON.stringify({ resumed })}\n\n`
}

function revokedEvent({ id, revocation }: LoggedRevocation): string {
  return `event: revoked\nid: ${id}\ndata: ${writeRevocation(revocation)}\n\n`
}

function unavailable(reply: FastifyReply, description: string): FastifyReply {
  return sendRefusal(reply, {
    status: 503,
    error: 'temporarily_unavailable',
    description,
    headers: { 'retry-after': '5' },
  })
}
