import type { FastifyReply, FastifyRequest } from 'fastify'
import { writeRevocation } from '../../oauth/revocation.ts'
import type { LoggedRevocation, RevocationLog } from '../store/store.ts'
import { isGatewayClient } from './client-authentication.ts'
import { sendErrorResponse } from './oauth-error-response.ts'
import { createStreamListener, type StreamListener } from './stream-listener.ts'

/** An event of a stream, for logs and metrics: `reason` is for the log, `result` for the counter. */
export type StreamEvent = {
  readonly result: 'ok' | 'invalid_client' | 'temporarily_unavailable' | 'cut'
  readonly reason: string
  readonly address: string
}

export type RevocationStream = {
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  readonly listeners: () => number
  /** Ends the streams of gateways whose secret is no longer accepted. */
  recheck(): void
  /** Ends every stream. Gateways reconnect to another replica. */
  close(): void
}

const MAX_LISTENERS = 256
/** Interval of heartbeats. A gateway closes the connection after three intervals without data. */
const HEARTBEAT_MS = 5_000
/** Maximum number of revocations to replay. A gateway that missed more revocations gets `reset`. */
const MAX_REPLAYED = 10_000
const RESET = 'event: reset\ndata: {}\n\n'

/**
 * Opens the revocation stream: `text/event-stream` responses to gateways.
 * - `ready`: the first event. `"resumed": true`: the server replays the revocations that the gateway missed.
 *   `"replayed": false`: the event `replayed` follows these revocations. `"replays": true`: the server replays all
 *   revocations of the log.
 * - `revoked`: one revocation, of any process on the store.
 * - `replayed`: the end of a replay of the missed revocations.
 * - `complete`: the end of a replay of all revocations. The gateway then has all revocations of valid tokens.
 * - `reset`: the gateway may have missed revocations.
 * - A comment every 5 seconds is the heartbeat.
 *
 * Each event except `reset`, `replayed` and `complete` has an id. When a gateway reconnects, it sends the last id in
 * `Last-Event-ID`. Callers authenticate as the gateway client, with HTTP Basic.
 * Source: HTML Living Standard, section 9.2.
 */
export async function openRevocationStream(options: {
  readonly clientId: string
  /** Returns all accepted secrets, newest first. */
  readonly clientSecrets: () => readonly string[]
  /**
   * Reads the accepted secrets again. Called for an unknown secret, because the gateway may have read a new secret
   * first.
   */
  readonly readSecrets: () => Promise<unknown>
  readonly log: RevocationLog
  readonly onEvent: (event: StreamEvent) => void
}): Promise<RevocationStream> {
  const { log, onEvent } = options
  /** The open streams, each with the `Authorization` header of its gateway. */
  const listeners = new Map<StreamListener, string | undefined>()
  const isGateway = isGatewayClient(options)
  const sendAll = (text: string): void => {
    for (const listener of listeners.keys()) listener.send(text)
  }
  const endAll = (): void => {
    for (const listener of listeners.keys()) listener.end()
  }
  /** True while revocations of other processes do not arrive. The log may still be readable. */
  let isLost = false
  const unfollow = await log.follow({
    revoked: (logged) => sendAll(logged.map(revokedEvent).join('')),
    // Ends the streams. Each gateway then reconnects and gets all revocations of the log.
    gap: () => {
      sendAll(RESET)
      endAll()
    },
    // Ends the streams. With an open stream and heartbeats, a gateway could not detect missing revocations.
    lost: () => {
      isLost = true
      endAll()
    },
    restored: () => {
      isLost = false
    },
  })
  const heartbeat = setInterval(() => sendAll(': heartbeat\n\n'), HEARTBEAT_MS)
  heartbeat.unref()
  let closed = false

  async function listen(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const address = request.ip
    const listener = createStreamListener(reply.raw, () =>
      onEvent({ result: 'cut', reason: 'the gateway reads too slowly', address }),
    )
    // Registers the listener before the read of the log, so that no event is lost. The listener buffers until
    // `begin()`.
    listeners.set(listener, request.headers.authorization)
    reply.raw.on('close', () => listeners.delete(listener))
    const start = await readStart(log, lastEventId(request)).catch(() => undefined)
    if (start === undefined || isLost) {
      const reason =
        start === undefined ? 'the store is unavailable' : 'revocations of other processes do not arrive'
      onEvent({ result: 'temporarily_unavailable', reason, address })
      return unavailable(reply, 'The revocation log is temporarily unavailable. Try again later.')
    }
    onEvent({ result: 'ok', reason: 'revocation stream opened', address })
    reply.hijack()
    listener.begin(start)
    return reply
  }

  return {
    handle: async (request, reply) => {
      const address = request.ip
      const { authorization } = request.headers
      if (!isGateway(authorization)) await options.readSecrets()
      if (!isGateway(authorization)) {
        onEvent({ result: 'invalid_client', reason: 'the credentials do not match gatewayClient', address })
        return sendErrorResponse(reply, {
          status: 401,
          error: 'invalid_client',
          description: 'Authenticate with the client id and secret of the gateway.',
          challenge: 'Basic realm="revocations"',
        })
      }
      if (closed || listeners.size >= MAX_LISTENERS) {
        const reason = closed
          ? 'the server is shutting down'
          : `the limit of ${MAX_LISTENERS} streams is reached`
        onEvent({ result: 'temporarily_unavailable', reason, address })
        return unavailable(reply, 'The server accepts no more streams at the moment. Try again later.')
      }
      return listen(request, reply)
    },
    listeners: () => listeners.size,
    recheck: () => {
      for (const [listener, authorization] of listeners) if (!isGateway(authorization)) listener.end()
    },
    close: () => {
      closed = true
      unfollow()
      clearInterval(heartbeat)
      endAll()
    },
  }
}

/**
 * Returns the first events of a stream. The first event is `ready`. If the log has the position of the gateway, the
 * revocations after this position follow. Otherwise, all revocations of the log follow, because a gateway that verifies
 * JWTs itself needs earlier revocations too. A gateway with an unknown position first gets `reset`. If the log has too
 * many revocations, no revocations follow.
 */
async function readStart(log: RevocationLog, after: string | undefined): Promise<string> {
  const replayed = after === undefined ? undefined : await log.readAfter(after, MAX_REPLAYED)
  if (after !== undefined && replayed !== undefined)
    return [
      readyEvent(after, { resumed: true, replayed: false }),
      ...replayed.map(revokedEvent),
      'event: replayed\ndata: {}\n\n',
    ].join('')
  const lastId = await log.lastId()
  const all = await log.readAfter(undefined, MAX_REPLAYED)
  const reset = after === undefined ? '' : RESET
  if (all === undefined) return readyEvent(lastId, { resumed: false }) + reset
  return [
    readyEvent(lastId, { resumed: false, replays: true }),
    reset,
    ...all.map(revokedEvent),
    'event: complete\ndata: {}\n\n',
  ].join('')
}

function lastEventId(request: FastifyRequest): string | undefined {
  const value = request.headers['last-event-id']
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readyEvent(
  id: string,
  data: { readonly resumed: boolean; readonly replayed?: false; readonly replays?: true },
): string {
  return `event: ready\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}

function revokedEvent({ id, revocation }: LoggedRevocation): string {
  return `event: revoked\nid: ${id}\ndata: ${writeRevocation(revocation)}\n\n`
}

function unavailable(reply: FastifyReply, description: string): FastifyReply {
  return sendErrorResponse(reply, {
    status: 503,
    error: 'temporarily_unavailable',
    description,
    headers: { 'retry-after': '5' },
  })
}
