import { constants } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { SecureContextOptions, SecureVersion } from 'node:tls'
import type { CertificateSource } from './certificate-source.ts'
import { type HandshakeFailure, handshakeFailure } from './handshake-failure.ts'
import type { ServerCertificate } from './parse-certificate.ts'

export type TlsOptions = {
  readonly certificate: CertificateSource
  readonly minVersion: Extract<SecureVersion, 'TLSv1.2' | 'TLSv1.3'>
  /** Clients are asked for a certificate, and served without one too; `ca` in PEM, to tell who is vouched for. */
  readonly clientCertificates: { readonly ca: string | undefined } | undefined
  readonly onHandshakeFailure: (failure: HandshakeFailure) => void
}

/** A client that takes longer holds a connection that somebody else could use. Milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 10_000
/**
 * How long a client may take a session up again without the certificate. Node's default, in seconds. The keys of tickets
 * are random, live in this process and end with the certificate in force; in TLS 1.3 a session that is taken up has a key
 * exchange of its own, so that they open nothing that was said before.
 */
const SESSION_SECONDS = 300
/** Those with forward secrecy and authenticated encryption, and none else: the intermediate profile of Mozilla's list. */
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
 * Makes a server of HTTP/1.1 over TLS whose certificate follows its source: new handshakes get the new one, connections
 * that are open stay as they are. HTTP/2 is not offered. Timeouts and the cap on connections are those of plain HTTP; the
 * cap counts a connection before its handshake.
 */
export function createTlsServer(http: ServerOptions, tls: TlsOptions): Server {
  const context = (certificate: ServerCertificate): SecureContextOptions => ({
    cert: certificate.cert,
    key: certificate.key,
    minVersion: tls.minVersion,
    ciphers: CIPHERS,
    honorCipherOrder: false, // all are good: clients without AES in hardware choose ChaCha20
    ...(tls.clientCertificates?.ca === undefined ? {} : { ca: tls.clientCertificates.ca }),
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  })
  const server = createServer({
    ...http,
    ...context(tls.certificate.current),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    sessionTimeout: SESSION_SECONDS,
    // Whether a certificate is good is for those to judge who need one: most requests do not.
    requestCert: tls.clientCertificates !== undefined,
    rejectUnauthorized: false,
  })
  tls.certificate.onChange((certificate) => server.setSecureContext(context(certificate)))
  // Node takes them for requests that cannot be read. There is nobody yet who would understand an answer.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (error, socket) => {
    tls.onHandshakeFailure(handshakeFailure(error))
    socket.destroy()
  })
  return server
}
