import type { Refusal } from '../refusal.ts'

/** Why an upstream gave no whole answer; a metric label, so a closed list. */
export type UpstreamFailureReason = 'connect' | 'dns' | 'tls' | 'timeout' | 'reset' | 'protocol'

export type UpstreamFailure = { readonly reason: UpstreamFailureReason; readonly refusal: Refusal }

const UNREACHABLE: Refusal = { refused: 'upstream_unreachable' }
const BROKEN: Refusal = { refused: 'upstream_broken' }
const TIMED_OUT: Refusal = { refused: 'upstream_timed_out' }

/** Sorts what the HTTP client or the system said, by its code. */
export function upstreamFailure(error: unknown): UpstreamFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ECONNREFUSED':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return { reason: 'connect', refusal: UNREACHABLE }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { reason: 'dns', refusal: UNREACHABLE }
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'ETIMEDOUT':
      return { reason: 'timeout', refusal: TIMED_OUT }
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return { reason: 'reset', refusal: BROKEN }
    default:
      if (/^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code))
        return { reason: 'tls', refusal: UNREACHABLE }
      return { reason: 'protocol', refusal: BROKEN }
  }
}
