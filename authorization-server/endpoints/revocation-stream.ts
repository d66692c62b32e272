import { hash, timingSafeEqual } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendRefusal } from './oauth-refusal.ts'

/** Tells gateways about revoked grants the moment they are gone. */
export type RevocationStream = {
  /** @param grant hashed id of the grant. */
  publish(grant: string): void
  /** Handles `GET /internal/revocations`. */
  handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
  readonly listeners: () => number
  /** Ends every stream; gateways reconnect elsewhere. */
  close(): void
}

const MOST_LISTENERS = 256
const HEARTBEAT_MS = 15_000
const MOST_UNSENT_BYTES = 65_536 // a listener that does not read is cut: it clears its cache when it comes back

/**
 * Keeps the open streams, `text/event-stream`: `ready` first, `revoked` per grant, a comment every 15 seconds.
 * Callers authenticate as the gateway's client, with HTTP Basic, compared in constant time.
 */
export function createRevocationStream(options: {
  readonly clientId: string
  readonly clientSecret: string
}): RevocationStream {
  const listeners = new Set<ServerResponse>()
  const expected = digest(`${options.clientId}:${options.clientSecret}`)
  const send = (text: string) => {
    for (const listener of listeners) {
      if (listener.writableLength > MOST_UNSENT_BYTES) listener.destroy()
      else listener.write(text)
    }
  }
  const heartbeat = setInterval(() => send(': still here\n\n'), HEARTBEAT_MS)
  heartbeat.unref()
  let closed = false

  return {
    publish: (grant) => send(`event: revoked\ndata: ${JSON.stringify({ grant })}\n\n`),
    handle: async (request, reply) => {
      if (!timingSafeEqual(digest(readBasic(request.headers.authorization) ?? ''), expected))
        return sendRefusal(reply, {
          status: 401,
          error: 'invalid_client',
          description: 'Authenticate with the client id and secret of the gateway.',
          challenge: 'Basic realm="revocations"',
        })
      if (closed || listeners.size >= MOST_LISTENERS)
        return sendRefusal(reply, {
          status: 503,
          error: 'temporarily_unavailable',
          description: 'No more listeners are taken right now.',
          headers: { 'retry-after': '5' },
        })
      reply.hijack()
      const response = reply.raw
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      response.write('event: ready\ndata: {}\n\n')
      listeners.add(response)
      response.on('close', () => listeners.delete(response))
      return reply
    },
    listeners: () => listeners.size,
    close: () => {
      closed = true
      clearInterval(heartbeat)
      for (const listener of listeners) listener.end()
    },
  }
}

function readBasic(authorization: string | undefined): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization ?? '')?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
}

function digest(text: string): Buffer {
  return Buffer.from(hash('sha256', text, 'hex'), 'hex')
}
