import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import type { RetryCause } from '../../policy-engine/format/retry-rule.ts'

/** Reason why an upstream gave no complete response. The reason is a metric label, so the set of values is fixed. */
export type UpstreamFailureReason =
  | 'connect'
  | 'descriptors'
  | 'dns'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'ejected'
  | 'queue_full'
  | 'queue_timeout'

/** A failure of an upstream, classified for metrics, for the response and for retries. */
export type UpstreamFailure = {
  readonly reason: UpstreamFailureReason
  readonly rejection: Rejection
  /** The cause in `retries` of a policy that allows a retry; if undefined, the gateway never retries the request. */
  readonly retryCause: RetryCause | undefined
}

const UNREACHABLE: Rejection = { rejected: 'upstream_unreachable' }
const OVERLOADED: Rejection = { rejected: 'overloaded', retryAfterSeconds: 1 }
const BUSY: Rejection = { rejected: 'upstream_busy', retryAfterSeconds: 1 }
const BROKEN: Rejection = { rejected: 'upstream_broken' }
const TIMED_OUT: Rejection = { rejected: 'upstream_timed_out' }
const UNFORWARDABLE: Rejection = {
  rejected: 'request_malformed',
  detail: 'The request cannot be forwarded: a header, the path or Content-Length is not valid.',
}

export function upstreamFailure(error: unknown): UpstreamFailure {
  const code = errorCode(error) ?? ''
  switch (code) {
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return { reason: 'connect', rejection: UNREACHABLE, retryCause: 'connect' }
    // These codes mean that this machine has no free descriptor, port or buffer for another connection.
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOBUFS':
      return { reason: 'descriptors', rejection: OVERLOADED, retryCause: undefined }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAI_NODATA':
      return { reason: 'dns', rejection: UNREACHABLE, retryCause: 'connect' }
    case 'UND_ERR_CONNECT_TIMEOUT':
      return { reason: 'timeout', rejection: TIMED_OUT, retryCause: 'connect' }
    case 'ERR_UPSTREAM_IDLE':
    case 'ETIMEDOUT':
      return { reason: 'timeout', rejection: TIMED_OUT, retryCause: undefined }
    case 'ERR_UPSTREAM_RESET':
    case 'ECONNRESET':
    case 'EPIPE':
      return { reason: 'reset', rejection: BROKEN, retryCause: 'reset' }
    case 'ERR_UPSTREAM_QUEUE_FULL':
      return { reason: 'queue_full', rejection: BUSY, retryCause: undefined }
    case 'ERR_UPSTREAM_QUEUE_TIMEOUT':
      return { reason: 'queue_timeout', rejection: BUSY, retryCause: undefined }
    case 'ERR_UPSTREAM_UNFORWARDABLE':
      return { reason: 'protocol', rejection: UNFORWARDABLE, retryCause: undefined }
    default:
      // The codes include errors of OpenSSL's verification: X509_verify_cert_error_string(3).
      if (
        /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|INVALID_(?:CA|PURPOSE)$|HOSTNAME_MISMATCH$|PATH_LENGTH_EXCEEDED$|CRL_)/.test(
          code,
        )
      )
        return { reason: 'tls', rejection: UNREACHABLE, retryCause: 'connect' }
      return { reason: 'protocol', rejection: BROKEN, retryCause: undefined }
  }
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
