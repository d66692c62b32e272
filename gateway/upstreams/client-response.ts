import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import { rawSocketOf } from '../../platform/net/raw-socket.ts'
import { resetSocket } from '../../platform/net/reset-socket.ts'
import { HTTP2 } from '../../policy-engine/match/clean-headers.ts'
import type { ForwardRequest } from './forward-request.ts'

/**
 * The gateway sends a chunk up to this size as a string. Up to this size, the conversion to a string costs less than a
 * write with two buffers. Bytes.
 */
const TEXT_BYTES = 16 * 1024

/**
 * Ends a response with its last chunk. Sends a small chunk as a Latin-1 string, which has the same bytes. Node sends a
 * string and the head in one write.
 */
export function endWith(response: ServerResponse, chunk: Buffer | string): void {
  if (typeof chunk === 'string') response.end(chunk, 'latin1')
  else if (chunk.length <= TEXT_BYTES) response.end(chunk.toString('latin1'), 'latin1')
  else response.end(chunk)
}

/** Returns whether a content type is an event stream, which may be endless. HTML Living Standard, section 9.2.4. */
export function isEventStream(contentType: string | string[] | undefined): boolean {
  return typeof contentType === 'string' && /^text\/event-stream\s*(?:;|$)/i.test(contentType)
}

/**
 * Forwards a 102 response, and the `Link` header of a 103 response. Drops all other interim responses, and a 103
 * response without links or with the credential of the gateway. HTTP/1.0 clients get no interim responses. RFC 9110
 * section 15.2, RFC 8297.
 */
export function relayInterim(
  { response, upstream }: Pick<ForwardRequest, 'response' | 'upstream'>,
  status: number,
  headers: IncomingHttpHeaders,
): void {
  if (response.req.httpVersion === '1.0') return
  if (status === 102) response.writeProcessing()
  const links = headers['link']
  if (status !== 103 || links === undefined) return
  if ([links].flat().some((link) => upstream.credential?.reveals(link) === true)) return
  try {
    response.writeEarlyHints({ link: links })
  } catch {
    // Node rejects an invalid link. The gateway then drops the 103 response, because this response is optional.
  }
}

/**
 * Aborts a response with a TCP reset. The client therefore cannot mistake the response for complete. To an HTTP/1.0
 * client, a regular end of the connection means the end of the body. TLS connections are reset too, because many
 * clients ignore a missing close_notify. A response of HTTP/2 ends with a reset of its stream.
 */
export function resetClient(response: ServerResponse): void {
  const { socket, req } = response
  if (req.httpVersion === HTTP2) {
    response.destroy()
    return
  }
  const raw = socket instanceof TLSSocket ? rawSocketOf(socket) : socket
  if (raw === null || raw === undefined) response.destroy()
  else resetSocket(raw)
}
