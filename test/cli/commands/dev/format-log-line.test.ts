import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { formatLogLine } from '../../../../cli/commands/dev/format-log-line.ts'

const plain = (service: string, entry: object | string): string | undefined => {
  const line = formatLogLine(service, typeof entry === 'string' ? entry : JSON.stringify(entry))
  return line === undefined ? undefined : stripVTControlCharacters(line)
}

t.test('formatLogLine() shows a line that is not JSON unchanged, with its service', async (t) => {
  t.equal(plain('gateway', 'Segmentation fault'), 'gateway: Segmentation fault')
  t.equal(plain('gateway', '  '), undefined)
  t.equal(plain('gateway', '"text"'), 'gateway: "text"')
})

t.test('formatLogLine() shows warnings and errors of every service, with the cause', async (t) => {
  t.equal(plain('demo API', { level: 'warn', msg: 'disk is slow' }), 'warning  demo API: disk is slow')
  t.equal(
    plain('gateway', { level: 'error', msg: 'cannot ask', err: { message: 'ECONNREFUSED' } }),
    'error  gateway: cannot ask: ECONNREFUSED',
  )
  t.equal(
    plain('gateway', { level: 'error', msg: 'the secret stays', reason: 'the file cannot be read (EACCES)' }),
    'error  gateway: the secret stays: the file cannot be read (EACCES)',
  )
})

t.test('formatLogLine() hides lines of level info', async (t) => {
  t.equal(plain('gateway', { level: 'info', msg: 'listening' }), undefined)
})

t.test('formatLogLine() prints one line for each decision of the gateway', async (t) => {
  const entry = {
    level: 'info',
    event: 'access',
    time: '2026-01-02T03:04:05.678Z',
    'http.request.method': 'POST',
    'url.path': '/api/courses',
    'http.response.status_code': 403,
    route: 'courses/create-course',
    'auth.decision': 'deny',
    'auth.reason': 'insufficient_scope',
    'auth.client_id': 'c1',
    'auth.scopes_missing': ['courses:write'],
    duration_ms: 1.5,
  }
  t.equal(
    plain('gateway', entry),
    '03:04:05  deny       403  POST /api/courses  courses/create-course  insufficient_scope  client c1  needs courses:write  1.5 ms',
  )
  t.equal(plain('demo API', entry), undefined, 'an upstream behind the gateway would show each request twice')
})

t.test('formatLogLine() shows the policy line of a denial, and the sender of an error', async (t) => {
  const entry = {
    event: 'access',
    time: '2026-01-02T03:04:05.678Z',
    'http.request.method': 'GET',
    'url.path': '/api/notes',
    route: 'notes/read-notes',
    upstream: 'notes',
    duration_ms: 1,
  }
  const denied = {
    ...entry,
    'http.response.status_code': 403,
    'auth.decision': 'deny',
    'auth.reason': 'insufficient_scope',
    'policy.place': 'policies/\u202enotes.policy.yaml:8:5',
  }
  t.match(plain('gateway', denied), 'insufficient_scope  policies/\\u{202e}notes.policy.yaml:8:5  1 ms')
  const allowed = { ...entry, 'auth.decision': 'allow', 'auth.reason': 'ok' }
  const missing = { ...allowed, 'http.response.status_code': 404, 'upstream.status': 404 }
  t.match(plain('gateway', missing), 'ok  sent by notes  1 ms')
  t.notMatch(plain('gateway', { ...missing, 'http.response.status_code': 502 }), 'sent by')
  t.notMatch(
    plain('gateway', { ...allowed, 'http.response.status_code': 200, 'upstream.status': 200 }),
    'sent by',
  )
  t.equal(
    plain('gateway', { ...entry, 'http.response.status_code': 404 }),
    '03:04:05  -          404  GET /api/notes  notes/read-notes  1 ms',
  )
})

t.test('formatLogLine() describes a request that was rejected before its path was parsed', async (t) => {
  const entry = {
    level: 'info',
    event: 'access',
    time: '2026-01-02T03:04:05.678Z',
    'http.request.method': 'GET',
  }
  t.match(plain('gateway', { ...entry, 'http.response.status_code': 400, duration_ms: 1 }), 'GET (no path)')
})

t.test('formatLogLine() shows reloaded policies, and the errors of rejected policies', async (t) => {
  t.equal(
    plain('gateway', {
      level: 'info',
      event: 'policy_reloaded',
      msg: 'policies reloaded',
      routes: 82,
    }),
    'policies  policies reloaded: 82 routes',
  )
  const diagnostics = 'error[P101]: unknown key "ownr"\n   |\n 4 | ownr: a\n   | ^^^^'
  t.equal(
    plain('gateway', {
      level: 'error',
      event: 'policy_reload_failed',
      msg: 'they are broken',
      diagnostics,
    }),
    `error  gateway: they are broken\n\n${diagnostics}\n`,
  )
})

t.test('formatLogLine() shows the remedy of a problem', async (t) => {
  t.equal(
    plain('gateway', {
      level: 'error',
      event: 'policy_reload_internal_error',
      msg: 'the reload failed',
      err: { message: 'made up' },
      remedy: 'Report the error.',
    }),
    'error  gateway: the reload failed: made up\n          Report the error.',
  )
})

t.test('formatLogLine() hides the successful steps before a token', async (t) => {
  const lineOf = (path: string, status: number, decision?: string) =>
    plain('gateway', {
      level: 'info',
      event: 'access',
      time: '2026-01-02T03:04:05.678Z',
      'http.request.method': 'POST',
      'url.path': path,
      'http.response.status_code': status,
      'auth.decision': decision,
      duration_ms: 1,
    })
  for (const [path, status] of [
    ['/.well-known/oauth-authorization-server', 200],
    ['/api/oauth/register', 201],
    ['/oauth/authorize', 303],
    ['/docs', 200],
  ] as const) {
    t.equal(lineOf(path, status), undefined, path)
    t.match(lineOf(path, status, 'allow'), `allow      ${status}  POST ${path}  `)
  }
  for (const [path, status] of [
    ['/api/oauth/token', 200],
    ['/api/oauth/token', 400],
    ['/oauth/authorize', 400],
    ['/docs', 503],
  ] as const)
    t.equal(lineOf(path, status), `03:04:05  -          ${status}  POST ${path}  -  1 ms`)
})
