/** Reasons for a failed TLS handshake: a metric label, so the list is closed. */
export type HandshakeFailure =
  | 'timeout'
  | 'aborted'
  | 'plain_http'
  | 'version'
  | 'protocol'
  | 'certificate'
  | 'other'

/** Classifies a handshake error by its OpenSSL or system error code. */
export function handshakeFailure(error: Error & { readonly code?: string }): HandshakeFailure {
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
