import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../../../cli/main.ts'
import { aPolicyFolder } from '../../../fixtures/a-policy-folder.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

async function explain(args: readonly string[], given: Parameters<typeof aTerminal>[0] = {}) {
  const terminal = aTerminal(given)
  const code = await main(['explain', ...args], terminal)
  return { code, ...terminal.said }
}

const jwt = (claims: object): string =>
  ['{"alg":"none"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')

t.test('explain names the rules that deny a request, and shows the challenge of the gateway', async (t) => {
  const { code, out } = await explain(['PATCH', '/api/courses/42', '--scope', 'courses:read'])
  t.equal(code, 1)
  t.match(
    out,
    /^PATCH \/api\/courses\/42\n\nroute {5}courses\/change-course +policies\/courses\.policy\.yaml:\d+:5 {3}\(owner team-learning\)\n/,
  )
  t.match(out, /^also saw {2}courses\/read-course +also matches the path, but only for GET$/m)
  t.match(out, /^scopes {4}DENY {2}needs all of: courses:write {3}token has: courses:read$/m)
  t.ok(
    out.endsWith(`\n403 insufficient_scope
  The access token lacks courses:write. Request a token with: courses:write.
  WWW-Authenticate: Bearer error="insufficient_scope", error_description="The access token lacks courses:write. Request a token with: courses:write.", scope="courses:write", resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource"
`),
    out,
  )
})

t.test('explain reports unmatched paths, invalid requests and paths outside of policies', async (t) => {
  for (const [args, code, text] of [
    [['GET', '/api/nope'], 1, 'none: no policy has this path'],
    [['GET', '/api//x'], 1, 'none: rejected before routing'],
    [['DELETE', '/api/analytics'], 1, 'none: this path allows only GET, HEAD, OPTIONS'],
    [['OPTIONS', '/api/courses'], 0, 'none: the gateway itself responds to OPTIONS'],
    [['GET', '/openapi.json'], 0, 'none: policies do not apply to this path of Scopegate'],
    [['GET', '/api/courses?access_token=x'], 1, '400 invalid_request'],
    [['GET', '/api/courses'], 0, 'allow, as anonymous'],
    [['GET', '/api/courses', '--scope', 'courses:read'], 0, 'allow, as token'],
  ] as const) {
    const said = await explain(args)
    t.equal(said.code, code, args.join(' '))
    t.match(said.out, text, args.join(' '))
  }
})

t.test('explain applies limits.target of the file and of the environment', async (t) => {
  const path = `/api/courses/${'x'.repeat(200)}`
  const limited = { env: { SCOPEGATE_LIMITS__TARGET: '128B' } }
  t.match(await explain(['GET', path]), { code: 0, out: /allow, as anonymous/ })
  t.match(await explain(['GET', path], limited), { code: 1, out: /414 invalid_request\n.*128 bytes/ })

  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
routes:
  - name: rewritten
    match: { methods: [GET], path: "/a/{x}" }
    anonymous: allow
    rewrite: { path: "/a-much-longer-path/{x}" }
tests:
  - it: accepts a path that is short enough after the rewrite
    request: { method: GET, path: /a/1234567890 }
    expect: { decision: allow, route: rewritten }
  - it: rejects a path that the rewrite makes too long
    request: { method: GET, path: /a/12345678901 }
    expect: { decision: deny, status: 414, route: rewritten }
`,
  })
  const file = join(folder, 'config', 'gateway.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('target: 8KiB', 'target: 30B'))
  t.match(await explain(['GET', '/a/1234567890'], { folder }), { code: 0 })
  t.match(await explain(['GET', '/a/12345678901'], { folder }), { code: 1, out: /414 invalid_request/ })
  const terminal = aTerminal({ folder })
  t.equal(await main(['test'], terminal), 0, terminal.said.out)
})

t.test('explain decides on a preflight as the server does', async (t) => {
  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
routes:
  - { name: a, match: { methods: [GET, OPTIONS], path: /a }, anonymous: deny, scopes: { all: [courses:read] } }
`,
  })
  const preflight = ['OPTIONS', '/a', '--header', 'access-control-request-method=GET']
  t.match(await explain(preflight, { folder }), { code: 0, out: /local reply of the gateway/ })
  for (const more of ['connection=access-control-request-method', 'access_control_request_method=PUT'])
    t.match(await explain([...preflight, '--header', more], { folder }), { code: 1, out: /401/ }, more)
})

t.test('explain shows which pages may call a route', async (t) => {
  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
defaults: { anonymous: allow, cors: { origins: [https://app.example], headers: [X-A] } }
routes:
  - { name: a, match: { methods: [GET, PUT], path: /a } }
  - { name: b, match: { methods: [GET], path: /b }, cors: { origins: ["*"] } }
`,
  })
  const ask = (args: readonly string[], ...headers: readonly string[]) =>
    explain([...args, ...headers.flatMap((header) => ['--header', header])], { folder })
  const PAGE = 'origin=https://app.example'
  const FOREIGN = 'origin=https://foreign.example'
  const limits = 'origins: https://app.example; headers: x-a'
  for (const [headers, row] of [
    [[], `cors      n/a  ${limits}`],
    [[PAGE], `cors      ok   a page of https://app.example can read the response   ${limits}`],
    [[FOREIGN], `cors      note  a page of https://foreign.example cannot read the response   ${limits}`],
  ] as const) {
    const { code, out } = await ask(['GET', '/a'], ...headers)
    t.equal(code, 0)
    t.ok(out.includes(`\n${row}\n`), out)
  }
  t.notMatch((await ask(['GET', '/b'], FOREIGN)).out, /^cors/m)
  const preflight = ['OPTIONS', '/a']
  const put = 'access-control-request-method=PUT'
  for (const [headers, row] of [
    [[PAGE, put], /^cors +ok +a browser sends PUT from https:\/\/app\.example$/m],
    [[FOREIGN, put], /^cors +DENY +a browser does not send PUT from https:\/\/foreign\.example$/m],
    [[put], /^cors +DENY +a browser does not send PUT from no origin$/m],
    [[PAGE, 'access-control-request-method=DELETE'], /^cors +DENY .*DELETE/m],
    [
      [PAGE, put, 'access-control-request-headers=x-a,x-b'],
      /^cors +DENY +a browser does not send PUT from https:\/\/app\.example with x-b$/m,
    ],
  ] as const)
    t.match((await ask(preflight, ...headers)).out, row, headers.join(' '))
  const { cors } = JSON.parse((await ask([...preflight, '--json'], PAGE, put)).out)
  t.same(cors, {
    preflight: true,
    origin: 'https://app.example',
    method: 'PUT',
    allowed: true,
    deniedHeaders: [],
  })
})

t.test('explain rejects methods that the server rejects before routing', async (t) => {
  for (const method of ['CONNECT', 'BREW', 'PRI'])
    t.match(await explain([method, '/api/courses']), { code: 1, out: /400 invalid_request/ }, method)
  t.match(await explain(['TRACE', '/api/courses']), { code: 1, out: /405 method_not_allowed/ })
})

t.test('explain accepts methods in any case', async (t) => {
  for (const method of ['get', 'Get', 'GET'])
    t.match(await explain([method, '/api/courses']), { code: 0, out: /^GET \/api\/courses\n/ }, method)
  t.match(await explain(['g et', '/api/courses']), { code: 2, err: /"g et" is not an HTTP method/ })
})

t.test('explain names the nearest route for a path without a route', async (t) => {
  for (const [path, nearest] of [
    ['/api/course', 'GET /api/courses (courses/list-courses)'],
    ['/api/curses/7', 'GET /api/courses/{id} (courses/read-course)'],
    ['/api/courses/7/lessons', 'GET /api/courses/{id} (courses/read-course)'],
  ] as const) {
    const { code, out } = await explain(['GET', path])
    t.equal(code, 1, path)
    t.match(out, `none: no policy has this path. The nearest route: ${nearest}\n`, path)
  }
  t.match((await explain(['GET', '/zzz'])).out, /none: no policy has this path\n/)
  const { nearest } = JSON.parse((await explain(['GET', '/api/course', '--json'])).out)
  t.same(nearest, { name: 'courses/list-courses', methods: ['GET'], path: '/api/courses' })
})

t.test('explain --token - reads a JWT without verification, says so, and does not print it', async (t) => {
  const claims = {
    iss: 'http://127.0.0.1:8080',
    aud: 'http://127.0.0.1:8080',
    sub: 'alice',
    scope: 'courses:write',
    exp: 4_102_444_800,
  }
  const token = jwt(claims)
  const args = ['PATCH', '/api/courses/42', '--token', '-']
  for (const typed of [token, `Bearer ${token}\n`]) {
    const { code, out, err } = await explain(args, { typed })
    t.equal(code, 0)
    t.match(out, 'subject alice')
    t.equal(err, 'scopegate: the signature of the token was not checked\n')
    for (const part of token.split('.')) t.notOk(`${out}${err}`.includes(part))
  }
  // explain adds no claims to a token from the user, so missing and expired claims have their real effect.
  t.match(await explain(args, { typed: jwt({ ...claims, aud: undefined }) }), {
    code: 1,
    out: /wrong_audience/,
  })
  t.match(await explain(args, { typed: jwt({ ...claims, exp: 1 }) }), { code: 1, out: /401 invalid_token/ })
  const hostile = await explain(args, {
    typed: jwt({ ...claims, exp: 1, sub: 'a\u001b[2Jb\nroute', aud: '\u202e' }),
  })
  t.match(hostile.out, 'subject a\\u{1b}[2Jb\\u{a}route')
  t.notMatch(hostile.out.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u)
  for (const typed of [
    'opaque-secret-token',
    'a.b',
    '..',
    `x.${Buffer.from('[]').toString('base64url')}.y`,
    '',
  ]) {
    const { code, out, err } = await explain(args, { typed })
    t.equal(code, 2, typed)
    t.equal(out, '')
    t.match(err, /^scopegate: /)
    t.notMatch(err, 'secret')
  }
})

t.test('explain rejects invalid command lines', async (t) => {
  for (const args of [
    ['G ET', '/api/courses'],
    ['GET', '/api/courses', '--anonymous', '--scope', 'x'],
    ['GET', '/api/courses', '--claim', 'sub'],
    ['GET', '/api/courses', '--claim', 'scope=4'],
    ['GET', '/api/courses', '--header', 'x'],
    ['GET', '/api/courses', '--header', 'Authorization=Bearer x'],
    ['GET', '/api/courses', '--header', 'a b=c'],
    ['GET', '/api/courses', '--header', 'a=b\nc: d'],
    ['GET', '/api/courses', '--token', 'eyJ'],
    ['GET', '/api/courses', '--url', 'http://127.0.0.1:9', '--config', '.'],
  ]) {
    const { code, out, err } = await explain(args)
    t.equal(code, 2, args.join(' '))
    t.equal(out, '')
    t.match(err, /See: scopegate explain --help\n$/)
  }
  for (const [url, problem] of [
    ['http://127.0.0.1:9', 'did not return its policies: '],
    ['nowhere', 'is not an http or https URL. '],
    ['file:///etc/passwd', 'is not an http or https URL. '],
  ] as const) {
    const { code, err } = await explain(['GET', '/', '--url', url])
    t.equal(code, 1)
    t.match(err, `scopegate: ${url} ${problem}`)
  }
})

t.test('explain --json prints the decision, the route and the response', async (t) => {
  const { code, out } = await explain([
    'PATCH',
    '/api/courses/42',
    '--scope',
    'courses:read',
    '--claim',
    'sub=alice',
    '--json',
  ])
  t.equal(code, 1)
  t.match(JSON.parse(out), {
    request: { method: 'PATCH', target: '/api/courses/42', path: '/api/courses/42' },
    decision: 'deny',
    as: null,
    resource: 'http://127.0.0.1:8080',
    route: { name: 'courses/change-course', owner: 'team-learning', source: { column: 5 } },
    params: { id: '42' },
    token: { held: true, fault: null, subject: 'alice', client: 'some-client', scopes: ['courses:read'] },
    scopes: { held: false, missing: ['courses:write'] },
    upstream: null,
    answer: { status: 403, error: 'insufficient_scope', challenge: /^Bearer error="insufficient_scope"/ },
  })
})

t.test('explain prints no token of the query', async (t) => {
  const target = '/api/courses?a=1&access_token=top-secret&a%63cess_token=top-secret&b'
  for (const options of [[], ['--json']])
    t.match(await explain(['GET', target, ...options]), {
      code: 1,
      out: /^(?![\s\S]*top-secret)[\s\S]*\/api\/courses\?a=1&access_token=\[cut\]&access_token=\[cut\]&b\b/,
    })
})

t.test('explain --token - reads a JWT by the claim names of its issuer', async (t) => {
  const folder = aPolicyFolder(t, {
    'courses.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: courses
upstream: learning-platform
routes:
  - { name: change, match: { methods: [PATCH], path: /api/courses }, scopes: { all: [courses:write] } }
`,
  })
  const file = join(folder, 'config/gateway.yaml')
  const issuer =
    '  - { issuer: "https://login.test", jwt: { audience: [api://courses], claims: { scope: [permissions] } } }\n'
  writeFileSync(file, readFileSync(file, 'utf8').replace('\nissuers:\n', `\nissuers:\n${issuer}`))
  const claims = {
    iss: 'https://login.test',
    aud: 'api://courses',
    permissions: ['courses:write'],
    exp: 4_102_444_800,
  }
  const ask = (token: object) =>
    explain(['PATCH', '/api/courses', '--token', '-'], { folder, typed: jwt(token) })
  t.match(await ask(claims), { code: 0, out: /allow, as token/ })
  t.match(await ask({ ...claims, aud: 'api://other' }), { code: 1, out: /wrong_audience/ })
  t.match(await ask({ ...claims, permissions: undefined, scope: 'courses:write' }), { code: 1, out: /403/ })
})

t.test(
  'explain --mode shows the decision that an ingress gets, and routes that a mode does not serve',
  async (t) => {
    const route = (name: string, more = '') =>
      `  - { name: ${name}, match: { methods: [GET], path: /${name} }, anonymous: challenge, scopes: { all: [courses:read] }${more} }\n`
    const head = (name: string, upstream = '') =>
      `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nowner: team\n${upstream}routes:\n`
    const folder = aPolicyFolder(t, {
      'proxied.policy.yaml':
        head('proxied', 'upstream: learning-platform\n') +
        route('plain') +
        route('asserted', ', upstreamAuth: assertion') +
        route('moved', ', rewrite: { path: /elsewhere }') +
        route('edited', ', headers: { request: { remove: [x-debug] } }') +
        route('socket', ', websocket: true') +
        route('called', ', mcp: { readBody: true }').replace('GET', 'POST'),
      'decided.policy.yaml': head('decided') + route('only'),
    })
    const file = join(folder, 'config', 'gateway.yaml')
    const decisions =
      'trustedProxies: [127.0.0.1]\ndecisions: { listen: { host: 127.0.0.1, port: 4010 }, protocol: auth-request }'
    writeFileSync(file, readFileSync(file, 'utf8').replace('trustedProxies: []', decisions))
    const ask = (path: string, mode?: string, token = true) =>
      explain(
        [
          ...(path === '/called' ? ['POST', '--header', 'mcp-method=tools/list'] : ['GET']),
          path,
          ...(token ? ['--scope', 'courses:read'] : []),
          ...(mode === undefined ? [] : ['--mode', mode]),
        ],
        { folder },
      )

    const allowed = await ask('/plain', 'decision')
    t.equal(allowed.code, 0)
    t.ok(
      allowed.out.endsWith(
        'allow, as token\n\nthe ingress copies from the 200 response\n  x-auth-subject: someone\n  x-auth-client-id: some-client\n  x-auth-scope: courses:read\n  x-auth-issuer: http://127.0.0.1:8080\n',
      ),
      allowed.out,
    )
    t.match(allowed.out, /^mode +ok +decision$/m)
    t.match((await ask('/asserted', 'decision')).out, /^ {2}x-auth-assertion: \(signed by the gateway\)$/m)
    for (const mode of [undefined, 'proxy'])
      t.ok(
        (await ask('/plain', mode)).out.endsWith('\nallow, as token\n'),
        'the proxy has no response of its own',
      )

    for (const [path, mode, code, text] of [
      ['/moved', 'decision', 1, /^mode +DENY +decision: only the proxy serves this route/m],
      ['/edited', 'decision', 1, /^mode +DENY +decision: only the proxy serves this route/m],
      ['/socket', 'decision', 1, /^mode +DENY +decision: only the proxy serves this route/m],
      ['/called', 'decision', 1, /^mode +DENY +decision: only the proxy serves this route/m],
      ['/called', 'proxy', 0, /^allow, as token$/m],
      ['/only', 'proxy', 1, /^mode +DENY +proxy: only the decision endpoint serves this route/m],
      ['/openapi.json', 'decision', 1, /^404 not_found$/m],
      ['/moved', 'proxy', 0, /^allow, as token$/m],
      ['/moved', undefined, 0, /^allow, as token$/m],
      ['/only', 'decision', 0, /^allow, as token$/m],
      ['/only', undefined, 0, /^allow, as token$/m],
      ['/openapi.json', 'proxy', 0, /^local reply of the gateway$/m],
    ] as const) {
      const said = await ask(path, mode)
      t.equal(said.code, code, `${path} ${mode}`)
      t.match(said.out, text, `${path} ${mode}`)
      if (code === 1) t.match(said.out, /^404 not_found$/m, `${path} ${mode}`)
    }
    for (const path of ['/socket', '/called'])
      t.match((await ask(path, 'decision', false)).out, /^404 not_found$/m, `${path}: not a challenge`)
    t.match((await ask('/plain', 'decision', false)).out, /^ {2}WWW-Authenticate: Bearer /m)
    const options = await explain(['OPTIONS', '/plain', '--mode', 'decision'], { folder })
    t.match(options, { code: 0, out: /local reply of the gateway/ })
    const json = JSON.parse(
      (
        await explain(['GET', '/plain', '--scope', 'courses:read', '--mode', 'decision', '--json'], {
          folder,
        })
      ).out,
    )
    t.match(json, { mode: 'decision', headers: { 'x-auth-subject': 'someone' } })
    t.equal((await ask('/plain', 'proxied')).code, 2)
  },
)

t.test('explain names the header with which the gateway authenticates at the upstream', async (t) => {
  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
routes:
  - { name: a, match: { methods: [GET], path: /a }, anonymous: allow }
`,
  })
  const file = join(folder, 'config', 'upstreams.yaml')
  const addresses = readFileSync(file, 'utf8')
  for (const [credentials, text] of [
    [
      '{ header: { name: X-Api-Key, valueFile: ./missing } }',
      /^upstream +learning-platform {2}\/a {2}with X-Api-Key of the gateway$/m,
    ],
    ['{ basic: { username: a, passwordFile: ./missing } }', / {2}\/a {2}with Authorization of the gateway$/m],
  ] as const) {
    writeFileSync(
      file,
      addresses.replace('learning-platform:\n', `learning-platform:\n  credentials: ${credentials}\n`),
    )
    t.match(await explain(['GET', '/a'], { folder }), { code: 0, out: text })
    const { upstream } = JSON.parse((await explain(['GET', '/a', '--json'], { folder })).out)
    t.equal(upstream.credentialHeader, credentials.includes('header') ? 'X-Api-Key' : 'Authorization')
  }
  writeFileSync(file, addresses)
  const { upstream } = JSON.parse((await explain(['GET', '/a', '--json'], { folder })).out)
  t.match(upstream, { name: 'learning-platform', path: '/a', credentialHeader: null })
  t.match((await explain(['GET', '/a'], { folder })).out, /^upstream +learning-platform {2}\/a$/m)
})

t.test(
  'explain shows the connection settings of the upstream with their defaults, and no secret',
  async (t) => {
    const folder = aPolicyFolder(t, {
      'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
routes:
  - { name: a, match: { methods: [GET], path: /a }, anonymous: allow }
`,
    })
    writeFileSync(join(folder, 'config', 'key'), 'top-secret')
    const file = join(folder, 'config', 'upstreams.yaml')
    const others = readFileSync(file, 'utf8').replace(/^learning-platform:\n(?: .*\n)+/m, '')
    writeFileSync(
      file,
      `${others}learning-platform:
  urls: [http://10.0.0.1, http://10.0.0.2]
  weights: [3, 1]
  maxConnections: 7
  maxPendingRequests: 2
  healthCheck: { path: /healthz, statuses: [200, 204] }
  credentials: { header: { name: X-Key, valueFile: ./key } }
`,
    )
    const { code, out } = await explain(['GET', '/a'], { folder })
    t.equal(code, 0)
    t.match(out, /^ {10,}weights \[3, 1\]$/m)
    t.match(out, /^ {10,}maxConnections 7, maxPendingRequests 2, queueTimeout 1s$/m)
    t.match(out, /^ {10,}healthCheck \{ .*interval 5s.* path \/healthz, statuses \[200, 204\] \}$/m)
    t.match(out, /^ {10,}credentials \{ header \{ name X-Key, valueFile \S*config\/key \} \}$/m)
    t.notMatch(out, 'top-secret')
    const json = JSON.parse((await explain(['GET', '/a', '--json'], { folder })).out)
    t.match(json.upstream.settings, {
      urls: ['http://10.0.0.1', 'http://10.0.0.2'],
      weights: [3, 1],
      timeout: '10s',
      maxConnections: 7,
      maxPendingRequests: 2,
      queueTimeout: '1s',
      ejection: { failures: 5, for: '5s' },
      healthCheck: { path: '/healthz', interval: '5s', unhealthyAfter: 3, statuses: [200, 204] },
      credentials: { header: { name: 'X-Key' } },
    })
  },
)

t.test('explain shows each limit of the route, with the plan of the caller', async (t) => {
  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
defaults: { anonymous: allow, sharedLimits: [apps, tenants] }
routes: [{ name: x, match: { methods: [GET], path: /x }, rateLimit: { requests: 600, per: 1m, by: client } }]
tests:
  - it: fails, and its reasons name the limits
    request: { method: GET, path: /x }
    token: { plan: pro }
    expect: { decision: deny }
`,
  })
  writeFileSync(
    join(folder, 'config', 'presets.yaml'),
    `sharedLimits:
  apps: { per: 1m, key: client, plans: { claim: plan, values: { pro: 6000 }, default: 60 } }
  tenants: { requests: 5, per: 1h, claim: tenant }
`,
  )
  const rows = (out: string) => out.split('\n').filter((line) => /^ *limits/.test(line))
  const tenants = 'limits    tenants: 5 per 1h by claim tenant'
  const own = 'limits    600 per 1m by client'
  t.strictSame(rows((await explain(['GET', '/x', '--claim', 'plan=pro'], { folder })).out), [
    own,
    'limits    apps: 6000 per 1m by client (plan pro)',
    tenants,
  ])
  t.strictSame(rows((await explain(['GET', '/x'], { folder })).out), [
    own,
    'limits    apps: 60 per 1m by client (no plan)',
    tenants,
  ])
  const { out } = await explain(['GET', '/x', '--json'], { folder })
  t.match(JSON.parse(out).route.sharedLimits, [
    { name: 'apps', requests: 60 },
    { name: 'tenants', claim: 'tenant' },
  ])
  const terminal = aTerminal({ folder })
  t.equal(await main(['test'], terminal), 4)
  t.equal(
    rows(terminal.said.out)[1]?.trim().replace(/ +/, ' '),
    'limits apps: 6000 per 1m by client (plan pro)',
  )
})

t.test('explain names the header condition that a request does not match', async (t) => {
  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
routes:
  - { name: tool, match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call } }, anonymous: allow }
  - { name: call, match: { methods: [POST], path: /body, headers: { mcp-method: tools/call } }, anonymous: allow, mcp: { readBody: true } }
`,
  })
  const { code, out } = await explain(['POST', '/mcp', '--header', 'mcp-method=tools/call'], { folder })
  t.equal(code, 1)
  t.match(out, /^route +none: the headers of the request match no route with this path$/m)
  t.match(
    out,
    /^also saw +a\/tool +also matches the path, but only with mcp-method: tools\/call, mcp-protocol-version: 2026-07-28 or later$/m,
  )
  const body = await explain(['POST', '/body', '--header', 'mcp-method=ping'], { folder })
  t.match(body.out, /^also saw +a\/call +also matches the path, but only with mcp-method: tools\/call$/m)
  t.notMatch(out, 'no policy has this path')
})

t.test('explain uses the base URL of scopegate dev if PORT is set', async (t) => {
  const courses = readFileSync('policies/courses.policy.yaml', 'utf8')
  const folder = aPolicyFolder(t, { 'courses.policy.yaml': courses })
  const gateway = join(folder, 'config/gateway.yaml')
  const original = readFileSync(gateway, 'utf8')
  const [local, moved, other] = ['http://127.0.0.1:8080', 'http://127.0.0.1:8180', 'https://api.test']
  const everywhere = original.replace('listen: { host: 127.0.0.1,', 'listen: { host: 0.0.0.0,')
  for (const [text, env, expected] of [
    [original, {}, local],
    [original, { PORT: '' }, local],
    [original, { PORT: '8180' }, moved],
    [original, { PORT: '8180', SCOPEGATE_BASE_URL: other }, other],
    [original.replace(/^baseUrl: .*$/m, `baseUrl: ${other}`), { PORT: '8180' }, other],
    [everywhere, { PORT: '8180' }, local],
  ] as const) {
    writeFileSync(gateway, text)
    const args = ['PATCH', '/api/courses/42', '--scope', 'courses:read', '--config', 'config']
    const { out, err } = await explain(args, { folder, env })
    t.equal(err, '')
    t.match(out, `  audience ${expected}\n`, `${JSON.stringify(env)}: ${expected}`)
    t.match(out, `resource_metadata="${expected}/.well-known/`)
  }
})
