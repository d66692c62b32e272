import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { normalizeIp } from '../../platform/net/normalize-ip.ts'
import type { TrustedProxies } from '../server/client-address.ts'
import {
  type CertificateHeader,
  type ClientCertificate,
  describeCertificate,
  readCertificateHeader,
} from '../tokens/binding/client-certificate.ts'

export type CertificateReaderOptions = {
  /** The header in which trusted proxies send the certificate; if undefined, the gateway reads no header. */
  readonly header: CertificateHeader | undefined
  readonly trustedProxies: TrustedProxies | undefined
  /**
   * How the gateway's own listener requests certificates. `off`: the listener requests no certificate. `authority`: the
   * certificate must chain to a configured authority. `any`: the proof of the private key is enough.
   */
  readonly listener: 'off' | 'any' | 'authority'
  readonly nowMs: () => number
}

/** Returns the SHA-256 thumbprint of the client certificate of a request; undefined without a valid certificate. */
export type CertificateReader = (request: IncomingMessage) => string | undefined

/**
 * Creates a `CertificateReader`. If `header` is set and the peer is a trusted proxy, the reader uses only the header,
 * because the connection belongs to the proxy. The reader ignores the header of any other peer. A certificate outside
 * its validity period counts as missing. Cost: a direct connection is inspected once; a header is read for each
 * request.
 */
export function createCertificateReader(options: CertificateReaderOptions): CertificateReader {
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

/** The TLS handshake proves that the client holds the private key of the certificate. RFC 8446 section 4.4.3. */
function readConnection(
  socket: Socket,
  listener: CertificateReaderOptions['listener'],
): ClientCertificate | 'none' {
  if (!(socket instanceof TLSSocket)) return 'none'
  if (listener === 'authority' && !socket.authorized) return 'none'
  const certificate = socket.getPeerX509Certificate()
  return certificate === undefined ? 'none' : describeCertificate(certificate)
}
