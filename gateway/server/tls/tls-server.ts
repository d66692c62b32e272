import { constants } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { SecureContextOptions, SecureVersion } from 'node:tls'
import type { CertificateSource } from './certificate-source.ts'
import { type HandshakeFailure, handshakeFailure } from './handshake-failure.ts'
import type { ServerCertificate } from './parse-certificate.ts'

export type TlsOptions = {
  readonly certificate: CertificateSource
  readonly minVersion: Extract<SecureVersion, 'TLSv1.2' | 'TLSv1.3'>
  /**
   * Whether to request client certificates; a client without one is accepted too. `ca` (PEM) holds the authorities that
   * client certificates are verified against.
   */
  readonly clientCertificates: { readonly ca: string | undefined } | undefined
  readonly onHandshakeFailure: (failure: HandshakeFailure) => void
}

/** A slower client occupies a connection for too long. Milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000
/**
 * How long a client may resume a session without a new exchange of certificates. Node's default, in seconds. Ticket
 * keys are random, stay in this process and expire with the active certificate. In TLS 1.3 a resumed session has its
 * own key exchange, so a leaked ticket key does not decrypt earlier traffic.
 */
const SESSION_SECONDS = 300
/** Only cipher suites with forward secrecy and authenticated encryption: Mozilla's intermediate profile. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/**
 * Creates an HTTP/1.1 server over TLS. A new certificate applies to new handshakes; open connections keep the old one.
 * HTTP/2 is not offered. Timeouts and the connection limit are the same as for plain HTTP; the limit counts a
 * connection before its handshake.
 */
export function createTlsServer(http: ServerOptions, tls: TlsOptions): Server {
  const context = (certificate: ServerCertificate): SecureContextOptions => ({
    cert: certificate.cert,
    key: certificate.key,
    minVersion: tls.minVersion,
    ciphers: CIPHERS,
    honorCipherOrder: false, // clients without AES hardware can choose ChaCha20
    ...(tls.clientCertificates?.ca === undefined ? {} : { ca: tls.clientCertificates.ca }),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  })
  const server = createServer({
    ...http,
    ...context(tls.certificate.current),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    sessionTimeout: SESSION_SECONDS,
    // Client certificates are verified when a token requires one: most requests do not.
    requestCert: tls.clientCertificates !== undefined,
    rejectUnauthorized: false,
  })
  tls.certificate.onChange((certificate) => server.setSecureContext(context(certificate)))
  // Node treats these errors as invalid requests and would send a response, which no client can read before the
  // handshake.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (error, socket) => {
    tls.onHandshakeFailure(handshakeFailure(error))
    socket.destroy()
  })
  return server
}
