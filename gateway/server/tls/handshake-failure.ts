/** Why a client and the gateway did not come to speak TLS; a metric label, so a closed list. */
export type HandshakeFailure =
  | 'timeout'
  | 'aborted'
  | 'plain_http'
  | 'version'
  | 'protocol'
  | 'certificate'
  | 'other'

/** Sorts what OpenSSL or the system said, by its code. */
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
      // The client does not believe ours.
      return /_ALERT_(?:UNKNOWN_CA|(?:BAD_|UNSUPPORTED_)?CERTIFICATE\w*)$/.test(error.code ?? '')
        ? 'certificate'
        : 'other'
  }
}
