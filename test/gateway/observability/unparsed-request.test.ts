import t from 'tap'
import { unparsedEntry } from '../../../gateway/observability/unparsed-request.ts'

t.test('unparsedEntry() returns an entry that contains no value from the received bytes', async (t) => {
  const rejection = { rejected: 'headers_too_large', limitBytes: 16_384 } as const
  const unparsed = { requestId: 'request-1', status: 431, rejection, peer: '192.0.2.1' }
  t.strictSame(unparsedEntry(unparsed, 1_800_000_000_000), {
    timeMs: 1_800_000_000_000,
    isDecision: false,
    requestId: 'request-1',
    trace: undefined,
    method: undefined,
    path: undefined,
    routeFields: '',
    status: 431,
    durationMs: 0,
    upstreamStatus: 0,
    upstreamMs: 0,
    clientAddress: '192.0.2.1',
    userAgent: undefined,
    decision: undefined,
    would: undefined,
    caller: undefined,
    rateLimitRemaining: undefined,
    rateLimitRejected: undefined,
    policyPlace: undefined,
    tokenFault: undefined,
    scopesMissing: [],
    audience: undefined,
    condition: undefined,
    session: undefined,
    errorType: 'headers_too_large',
    errorCode: undefined,
  })
})
