import { EventEmitter } from 'node:events'
import { IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { toHeaderForms } from '../pipeline/header-forms.ts'
import type { TextReply } from '../pipeline/send-reply.ts'
import type { ForwardedHeader } from '../server/client-address.ts'
import type { CheckRequest } from './check-messages.ts'

/**
 * Returns the original request as if the client had sent it to the gateway. The pipeline then needs no code for gRPC.
 * @param peer the address of Envoy.
 */
export function toOriginalRequest(
  { method, path, host, headers, sourceAddress }: CheckRequest,
  { peer, forwardedHeader }: { readonly peer: string; readonly forwardedHeader: ForwardedHeader },
): IncomingMessage {
  // The pipeline reads only the address of a connection. One object for each request, because a reply that closes the
  // connection must not affect other requests of Envoy.
  const request = new IncomingMessage({ remoteAddress: peer } as Socket)
  const rawHeaders = [...headers]
  if (host !== undefined) rawHeaders.push('host', host)
  // The last entry of the header is the peer of Envoy, as if Envoy had appended the entry.
  rawHeaders.push(forwardedHeader, forwardedEntry(sourceAddress, forwardedHeader))
  return Object.assign(request, {
    method,
    url: path,
    httpVersion: '1.1',
    ...toHeaderForms(rawHeaders),
    complete: true,
  })
}

function forwardedEntry(address: string, header: ForwardedHeader): string {
  if (header === 'x-forwarded-for') return address
  return address.includes(':') ? `for="[${address}]"` : `for=${address}`
}

/**
 * Collects the reply of the pipeline, which writes the reply to a `ServerResponse`. Has only the members that a local
 * reply needs.
 */
export class CheckReply extends EventEmitter {
  statusCode = 200
  headersSent = false
  writableEnded = false
  writableFinished = false
  destroyed = false
  readonly #onReply: (reply: TextReply) => void
  readonly #onDestroy: () => void
  #headers: readonly string[] = []

  /** @param onDestroy ends the exchange without a reply. */
  constructor(onReply: (reply: TextReply) => void, onDestroy: () => void) {
    super()
    this.#onReply = onReply
    this.#onDestroy = onDestroy
  }

  writeHead(status: number, headers: readonly string[] | Readonly<Record<string, string>>): this {
    this.statusCode = status
    this.headersSent = true
    this.#headers = Array.isArray(headers) ? headers : Object.entries(headers).flat()
    return this
  }

  end(body?: string): this {
    if (this.writableEnded) return this
    this.writableEnded = true
    this.#onReply({ status: this.statusCode, headers: this.#headers, body })
    return this
  }

  destroy(): this {
    this.#onDestroy()
    return this
  }

  /** Ends the exchange. `isSent`: Envoy has received the complete reply. */
  close(isSent: boolean): void {
    this.writableFinished = isSent
    this.destroyed = true
    this.emit('close')
  }

  asResponse(): ServerResponse {
    return this as unknown as ServerResponse
  }
}
