import t from 'tap'
import { type UpstreamFailureReason, upstreamFailure } from '../../../gateway/upstreams/upstream-failure.ts'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import type { RetryCause } from '../../../policy-engine/format/retry-rule.ts'

type Row = readonly [
  codes: readonly string[],
  reason: UpstreamFailureReason,
  rejected: Rejection['rejected'],
  retryCause: RetryCause | undefined,
]

/** Error codes of the operating system, OpenSSL, undici and gateway/upstreams/http1, and the expected results. */
const ROWS: readonly Row[] = [
  [
    ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'],
    'connect',
    'upstream_unreachable',
    'connect',
  ],
  [['EMFILE', 'ENFILE', 'ENOBUFS'], 'descriptors', 'overloaded', undefined],
  [['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA'], 'dns', 'upstream_unreachable', 'connect'],
  [['UND_ERR_CONNECT_TIMEOUT'], 'timeout', 'upstream_timed_out', 'connect'],
  [['ERR_UPSTREAM_IDLE', 'ETIMEDOUT'], 'timeout', 'upstream_timed_out', undefined],
  [['ERR_UPSTREAM_RESET', 'ECONNRESET', 'EPIPE'], 'reset', 'upstream_broken', 'reset'],
  [['ERR_UPSTREAM_UNFORWARDABLE'], 'protocol', 'request_malformed', undefined],
  [
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'ERR_TLS_HANDSHAKE_TIMEOUT',
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
      'CERT_HAS_EXPIRED',
      'CERT_NOT_YET_VALID',
      'CERT_REVOKED',
      'CERT_UNTRUSTED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'INVALID_CA',
      'INVALID_PURPOSE',
      'HOSTNAME_MISMATCH',
      'PATH_LENGTH_EXCEEDED',
      'CRL_HAS_EXPIRED',
    ],
    'tls',
    'upstream_unreachable',
    'connect',
  ],
  [
    ['ERR_UPSTREAM_PROTOCOL', 'ERR_UPSTREAM_CLOSED', 'EACCES', 'INVALID_CALLER', 'HOSTNAME_MISMATCHED', ''],
    'protocol',
    'upstream_broken',
    undefined,
  ],
]

for (const [codes, reason, rejected, retryCause] of ROWS)
  for (const code of codes)
    t.test(`upstreamFailure() maps ${code || 'an error without code'} to ${reason}`, async (t) => {
      const error = code === '' ? new Error('x') : Object.assign(new Error('x'), { code })
      t.match(upstreamFailure(error), { reason, rejection: { rejected }, retryCause })
      t.equal(upstreamFailure(error).retryCause, retryCause)
    })

t.test('upstreamFailure() returns a retry time of one second when the gateway is overloaded', async (t) => {
  const error = Object.assign(new Error('x'), { code: 'EMFILE' })
  t.match(upstreamFailure(error).rejection, { rejected: 'overloaded', retryAfterSeconds: 1 })
})

t.test('upstreamFailure() ignores the code of a value that is not an Error', async (t) => {
  for (const value of [undefined, null, 'ECONNREFUSED', { code: 'ECONNREFUSED' }])
    t.match(upstreamFailure(value), { reason: 'protocol', rejection: { rejected: 'upstream_broken' } })
})
