import { type IncomingHttpHeaders, IncomingMessage } from 'node:http'

/**
 * Creates the request for the engine: a copy with the host and scheme of the configured issuer.
 * The engine therefore never writes a URL from the `Host` header of a client. The copy has the body that the endpoint
 * checked. For HEAD, the copy has the method GET. Node omits the body of the response to HEAD.
 */
export function providerRequest(
  request: IncomingMessage,
  options: { readonly issuer: URL; readonly url?: string; readonly body?: Buffer },
): IncomingMessage {
  const copy = new IncomingMessage(request.socket)
  copy.httpVersion = request.httpVersion
  copy.httpVersionMajor = request.httpVersionMajor
  copy.httpVersionMinor = request.httpVersionMinor
  copy.method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
  copy.url = options.url ?? request.url ?? '/'
  copy.headers = issuerHeaders(request.headers, options)
  copy.complete = true // otherwise the end of the copy destroys the socket
  if (options.body !== undefined) copy.push(options.body)
  copy.push(null)
  return copy
}

function issuerHeaders(
  headers: IncomingHttpHeaders,
  options: { readonly issuer: URL; readonly body?: Buffer },
): IncomingHttpHeaders {
  const pinned: IncomingHttpHeaders = { ...headers, host: options.issuer.host }
  for (const name of Object.keys(pinned)) if (name.startsWith('x-forwarded-')) delete pinned[name]
  delete pinned['transfer-encoding']
  delete pinned['content-encoding']
  pinned['x-forwarded-host'] = options.issuer.host
  pinned['x-forwarded-proto'] = options.issuer.protocol.slice(0, -1)
  if (options.body === undefined) delete pinned['content-length']
  else pinned['content-length'] = String(options.body.length)
  return pinned
}
