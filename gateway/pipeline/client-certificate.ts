import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { normalizeIp } from '../server/normalize-ip.ts'
import type { TrustedProxies } from '../server/trusted-proxies.ts'
import { type ClientCertificate, describeCertificate } from '../tokens/binding/client-certificate.ts'
import { type CertificateHeader, readCertificateHeader } from '../tokens/binding/read-certificate-header.ts'

/** Where client certificates come from. */
export type CertificateReaderOptions = {
  /** undefined: no proxy is believed about them. */
  readonly header: CertificateHeader | undefined
  readonly trustedProxies: TrustedProxies | undefined
  /** Our own listener asks for them: `authority`, one that vouches for them; `any`, the holder of the key. */
  readonly listener: 'off' | 'any' | 'authority'
  /** Wall clock. Milliseconds since the epoch. */
  readonly nowMs: () => number
}

/**
 * Makes what finds the thumbprint of a request's client certificate. A trusted proxy is asked by its header, and by that
 * alone: the connection is its own. Whoever else sends such a header is not listened to. A certificate that is not good
 * today is none.
 * Cost: on a connection of our own once, whatever is asked on it; else reading the header.
 */
export function createCertificateReader(
  options: CertificateReaderOptions,
): (request: IncomingMessage) => string | undefined {
  const { header, trustedProxies, listener, nowMs } = options
  const known = new WeakMap<Socket, ClientCertificate | 'none'>()

  function ofConnection(socket: Socket): ClientCertificate | 'none' {
    const certificate = known.get(socket) ?? readConnection(socket, listener)
    known.set(socket, certificate)
    return certificate
  }

  return (request) => {
    const { socket } = request
    const isProxied = header !== undefined && trustedProxies?.has(normalizeIp(socket.remoteAddress)) === true
    const certificate = isProxied
      ? (readCertificateHeader(request.headersDistinct[header.name] ?? [], header.format) ?? 'none')
      : listener === 'off'
        ? 'none'
        : ofConnection(socket)
    if (certificate === 'none') return undefined
    const now = nowMs()
    return certificate.fromMs <= now && now < certificate.untilMs ? certificate.thumbprint : undefined
  }
}

/** The handshake has shown that the client holds the key of the certificate. RFC 8446 section 4.4.3. */
function readConnection(
  socket: Socket,
  listener: CertificateReaderOptions['listener'],
): ClientCertificate | 'none' {
  if (!(socket instanceof TLSSocket)) return 'none'
  if (listener === 'authority' && !socket.authorized) return 'none'
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? 'none' : describeCertificate(certificate)
}
