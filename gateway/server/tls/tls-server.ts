import { constants } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type {
  SecureContextOptions,
  SecureVersion,
  TLSSocket,
  Server as TlsServer,
  TlsOptions as TlsServerOptions,
} from 'node:tls'
import type { CertificateSource } from './certificate-source.ts'
import type { ServerCertificate } from './parse-certificate.ts'

export type TlsOptions = {
  readonly certificate: CertificateSource
  readonly minVersion: Extract<SecureVersion, 'TLSv1.2' | 'TLSv1.3'>
  /**
   * Set if the server requests client certificates. The server also accepts a client without a certificate. `ca` (PEM)
   * contains the certificates of the authorities for the verification of client certificates.
   */
  readonly clientCertificates: { readonly ca: string | undefined } | undefined
  readonly onHandshakeFailure: (failure: HandshakeFailure) => void
  readonly onHttp2Failure: (failure: Http2Failure) => void
}

/** Takes the connections whose clients choose HTTP/2. */
export type Http2Acceptor = { accept(socket: TLSSocket): void }

/** Limit for the TLS handshake. A slower client would occupy a connection for too long. Milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000
/**
 * Time for which a client may resume a session without a new exchange of certificates: Node's default, in seconds.
 * Ticket keys are random, stay in this process and expire with the active certificate. In TLS 1.3 a resumed session has
 * its own key exchange, so a leaked ticket key does not decrypt earlier traffic.
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
 * Creates an HTTP/1.1 server over TLS. A new certificate applies to new handshakes; open connections keep the old
 * certificate. Timeouts and the connection limit are the same as for plain HTTP. The connection limit also counts
 * connections during the handshake.
 * @param http2 undefined: the server does not offer HTTP/2.
 */
export function createTlsServer(http: ServerOptions, tls: TlsOptions, http2?: Http2Acceptor): Server {
  const ALPNProtocols = http2 === undefined ? ['http/1.1'] : ['h2', 'http/1.1']
  const server = openTlsServer((settings) => createServer({ ...http, ...settings, ALPNProtocols }), tls)
  if (http2 !== undefined) {
    const [acceptHttp1] = server.rawListeners('secureConnection') as ((socket: TLSSocket) => void)[]
    server.removeAllListeners('secureConnection')
    server.on('secureConnection', (socket) => {
      if (socket.alpnProtocol === 'h2') http2.accept(socket)
      else acceptHttp1?.call(server, socket)
    })
  }
  return server
}

/** Creates a server over TLS that keeps its certificate up to date. */
export function openTlsServer<S extends TlsServer>(
  create: (settings: TlsServerOptions) => S,
  tls: TlsOptions,
): S {
  const context = (certificate: ServerCertificate): SecureContextOptions => ({
    cert: certificate.cert,
    key: certificate.key,
    minVersion: tls.minVersion,
    ciphers: CIPHERS,
    honorCipherOrder: false, // clients without AES hardware can choose ChaCha20
    ...(tls.clientCertificates?.ca === undefined ? {} : { ca: tls.clientCertificates.ca }),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  })
  const server = create({
    ...context(tls.certificate.current),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    sessionTimeout: SESSION_SECONDS,
    // The handshake succeeds without a valid client certificate. The gateway checks the certificate only for a token
    // that requires a certificate.
    requestCert: tls.clientCertificates !== undefined,
    rejectUnauthorized: false,
  })
  tls.certificate.onChange((certificate) => server.setSecureContext(context(certificate)))
  // Node would treat these errors as invalid requests and send a response. No client can read a response before the
  // handshake.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (error, socket) => {
    tls.onHandshakeFailure(handshakeFailure(error))
    socket.destroy()
  })
  return server
}

/** Reason for closing an HTTP/2 connection: too many useless frames, or frames that break the protocol. */
export type Http2Failure = 'flood' | 'protocol'

/** Reason for a failed TLS handshake. The reason is a metric label, so the set of values is fixed. */
export type HandshakeFailure =
  | 'timeout'
  | 'aborted'
  | 'plain_http'
  | 'version'
  | 'protocol'
  | 'certificate'
  | 'other'

function handshakeFailure(error: Error & { readonly code?: string }): HandshakeFailure {
  switch (error.code) {
    case 'ERR_TLS_HANDSHAKE_TIMEOUT':
      return 'timeout'
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING':
      return 'aborted'
    case 'ERR_SSL_HTTP_REQUEST':
      return 'plain_http'
    case 'ERR_SSL_UNSUPPORTED_PROTOCOL':
    case 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION':
    case 'ERR_SSL_VERSION_TOO_LOW':
      return 'version'
    case 'ERR_SSL_NO_APPLICATION_PROTOCOL':
      return 'protocol'
    default:
      // The client rejects the gateway's certificate.
      return /_ALERT_(?:UNKNOWN_CA|(?:BAD_|UNSUPPORTED_)?CERTIFICATE\w*)$/.test(error.code ?? '')
        ? 'certificate'
        : 'other'
  }
}
