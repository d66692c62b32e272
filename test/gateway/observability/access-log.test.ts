import { mock } from 'node:test'
import t from 'tap'
import {
  type AccessEntry,
  accessLogFields,
  createAccessLog,
} from '../../../gateway/observability/access-log.ts'
import { unparsedEntry } from '../../../gateway/observability/unparsed-request.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

const FLUSH_AT = 64 * 1024

/** Creates an access log and an entry with a known line. */
function anAccessLog() {
  const writes: string[] = []
  const log = createAccessLog({
    write: (lines) => writes.push(lines),
    isEnabled: () => true,
    service: 'gateway',
    subject: 'hashed',
  })
  const entry = unparsedEntry(
    {
      requestId: 'request-1',
      status: 400,
      rejection: { rejected: 'request_malformed', detail: '' },
      peer: '127.0.0.1',
    },
    1_800_000_000_000,
  )
  return { log, entry, writes }
}

t.test('add() writes the lines immediately as soon as 64 KiB are buffered', async (t) => {
  const { log, entry, writes } = anAccessLog()
  log.add(entry)
  t.strictSame(writes, [], 'a line is buffered')
  log.flush()
  const [line = ''] = writes.splice(0)
  t.match(JSON.parse(line), { event: 'access', request_id: 'request-1' })

  const enough = Math.ceil(FLUSH_AT / line.length)
  for (let round = 0; round < 3; round += 1) {
    for (let count = 1; count < enough; count += 1) log.add(entry)
    t.equal(writes.length, round, 'one line less than 64 KiB')
    log.add(entry)
    t.equal(writes.length, round + 1)
    t.equal(writes[round], line.repeat(enough), 'whole lines, each once')
  }
  log.flush()
  t.equal(writes.length, 3, 'the buffer is empty')
})

t.test('flush() writes the buffered lines once', async (t) => {
  const { log, entry, writes } = anAccessLog()
  log.add(entry)
  log.add(entry)
  log.flush()
  log.flush()
  t.equal(writes.length, 1)
  t.equal(writes[0]?.split('\n').length, 3)
})

t.test('add() writes durations in milliseconds, rounded to microseconds', async (t) => {
  const { log, entry, writes } = anAccessLog()
  log.add({ ...entry, durationMs: 12.345_678, upstreamStatus: 200, upstreamMs: 0.000_4 })
  log.flush()
  t.match(writes[0], '"duration_ms":12.346,"upstream.status":200,"upstream.duration_ms":0,')
})

/** An entry with a value for every field. A real entry has fewer values. */
const WHOLE: AccessEntry = {
  timeMs: 1_800_000_000_123,
  requestId: 'request-1',
  isDecision: false,
  trace: undefined,
  method: 'GET',
  path: '/a"b',
  routeFields: ',"route":"p/one"',
  status: 200,
  durationMs: 1.5,
  upstreamStatus: 201,
  upstreamMs: 0.25,
  clientAddress: '192.0.2.1',
  userAgent: 'agent',
  decision: { decision: 'allow', reason: 'ok' },
  would: { decision: 'deny', reason: 'condition' },
  caller: aCaller({ subject: 'user-1', clientId: 'client-1', scopes: new Set(['c:read', 'd\u001b']) }),
  session: { code: 1000, fromClient: 1, fromUpstream: 2 },
  policyPlace: 'p"\x9b1.policy.yaml:3:5',
  tokenFault: 'malformed',
  scopesMissing: ['a:read', 'b:read'],
  audience: { expected: 'https://api.test', actual: ['a', 'b', 'c', 'd', 'e', 'f'] },
  condition: 'team equals a',
  rateLimitRemaining: 0,
  rateLimitRejected: undefined,
  errorType: 'token_invalid',
  errorCode: 'ERR_CODE',
}

function lineOf(entry: AccessEntry, subject: 'plain' | 'hashed' = 'plain'): string {
  const writes: string[] = []
  const log = createAccessLog({
    write: (lines) => writes.push(lines),
    isEnabled: () => true,
    service: 'gate"way',
    subject,
  })
  log.add(entry)
  log.flush()
  return writes.join('')
}

t.test('add() writes one JSON line with the fields in a fixed order', async (t) => {
  t.equal(
    lineOf(WHOLE),
    '{"level":"info","time":"2027-01-15T08:00:00.123Z","service":"gate\\"way","event":"access","request_id":"request-1",' +
      '"http.request.method":"GET","url.path":"/a\\"b","route":"p/one","http.response.status_code":200,"duration_ms":1.5,' +
      '"upstream.status":201,"upstream.duration_ms":0.25,"client.address":"192.0.2.1","user_agent.original":"agent",' +
      '"auth.decision":"allow","auth.reason":"ok","auth.would":"deny","auth.would_reason":"condition",' +
      '"policy.place":"p\\"\\u009b1.policy.yaml:3:5","auth.token_fault":"malformed",' +
      '"auth.client_id":"client-1","auth.subject":"user-1","auth.scopes_granted":["c:read","d\\\\u{1b}"],' +
      '"websocket.close_code":1000,"websocket.bytes_from_client":1,"websocket.bytes_from_upstream":2,' +
      '"auth.scopes_missing":["a:read","b:read"],' +
      '"auth.audience_expected":"https://api.test","auth.audience":["a","b","c","d","e","(1 more)"],' +
      '"auth.condition":"team equals a","rate_limit.remaining":0,"error.type":"token_invalid","error.code":"ERR_CODE"}\n',
  )
})

t.test('add() omits missing values', async (t) => {
  const { entry } = anAccessLog()
  t.equal(
    lineOf({ ...entry, errorType: undefined, errorCode: 'ERR_CODE' }),
    '{"level":"info","time":"2027-01-15T08:00:00.000Z","service":"gate\\"way","event":"access","request_id":"request-1",' +
      '"http.response.status_code":400,"duration_ms":0,"client.address":"127.0.0.1"}\n',
  )
})

t.test('add() logs at most 20 granted scopes of a token', async (t) => {
  const scopes = new Set(Array.from({ length: 25 }, (_, index) => `s${index}`))
  const granted = JSON.parse(lineOf({ ...WHOLE, caller: aCaller({ scopes }) }))['auth.scopes_granted']
  t.strictSame(granted, [...[...scopes].slice(0, 20), '(5 more)'])
})

t.test('add() hashes the subject unless the configuration allows plain subjects', async (t) => {
  const subjectOf = (subject: string | undefined, form: 'plain' | 'hashed'): unknown =>
    JSON.parse(lineOf({ ...WHOLE, caller: aCaller({ subject }) }, form))['auth.subject']
  t.equal(subjectOf('user-1', 'plain'), 'user-1')
  t.equal(subjectOf('user-1', 'hashed'), 'xsKJ5J6cBbIUWGA4')
  t.equal(subjectOf(undefined, 'hashed'), undefined)
})

t.test('add() formats the fields of a caller and the text of a time only once', async (t) => {
  const { log, entry, writes } = anAccessLog()
  let reads = 0
  const caller = Object.defineProperty(aCaller(), 'clientId', {
    get: () => {
      reads += 1
      return 'client-1'
    },
  })
  const toText = mock.method(Date.prototype, 'toISOString')
  t.teardown(() => toText.mock.restore())
  const timeMs = 1_900_000_000_000
  for (const each of [timeMs, timeMs, timeMs + 1, timeMs]) log.add({ ...entry, timeMs: each, caller })
  t.equal(reads, 1)
  t.equal(toText.mock.callCount(), 3)
  log.flush()
  t.strictSame(
    writes[0]
      ?.trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).time),
    [
      '2030-03-17T17:46:40.000Z',
      '2030-03-17T17:46:40.000Z',
      '2030-03-17T17:46:40.001Z',
      '2030-03-17T17:46:40.000Z',
    ],
  )
})

t.test('add() escapes control characters of the user agent that terminals interpret', async (t) => {
  const userAgentOf = (userAgent: string): string | undefined =>
    /"user_agent\.original":"(.*?)"/.exec(lineOf({ ...WHOLE, userAgent }))?.[1]
  t.equal(userAgentOf('~\x7f\x80\x9f\xa0'), '~\\u007f\\u0080\\u009f\xa0')
  t.equal(userAgentOf('\x9b1m\x9b0m'), '\\u009b1m\\u009b0m')
})

t.test('add() writes buffered lines 50 ms after the first line', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { log, entry, writes } = anAccessLog()
  log.add(entry)
  mock.timers.tick(49)
  log.add(entry)
  t.equal(writes.length, 0)
  mock.timers.tick(1)
  t.equal(writes.length, 1)
  t.equal(writes[0]?.split('\n').length, 3)

  log.add(entry)
  mock.timers.tick(40)
  log.flush()
  t.equal(writes.length, 2)
  log.add(entry)
  mock.timers.tick(49)
  t.equal(writes.length, 2, 'flush() stops the timer, and the next line starts another one')
  mock.timers.tick(1)
  t.equal(writes.length, 3)
})

t.test('accessLogFields() formats the fields of a route that are present', async (t) => {
  t.equal(
    accessLogFields({ route: 'p/"one"', upstream: undefined, 'http.route': '/a' }),
    ',"route":"p/\\"one\\"","http.route":"/a"',
  )
  t.equal(accessLogFields({}), '')
})
