import t, { type Test } from 'tap'
import { type DecisionProtocol, startDecisionEndpoint } from '../fixtures/a-decision-endpoint.ts'
import { BASE_URL } from '../fixtures/a-gateway.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { type Message, send } from '../fixtures/send.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import { until } from '../fixtures/until.ts'

async function start(t: Test, protocol: DecisionProtocol, trustedProxies = ['127.0.0.1']) {
  const endpoint = await startDecisionEndpoint(t, protocol, { trustedProxies })
  const url = endpoint.decisions
  const [methodName, targetName] =
    protocol === 'auth-request'
      ? ['x-original-method', 'x-original-uri']
      : ['x-forwarded-method', 'x-forwarded-uri']
  const ask = (method: string, target: string, message: Message = {}) =>
    send(url, { ...message, headers: { [methodName]: method, [targetName]: target, ...message.headers } })
  return { ...endpoint, url, ask }
}

t.test('an allowed request gets 200 with the identity headers, and nothing is forwarded', async (t) => {
  const { ask, upstream, logText } = await start(t, 'forward-auth')
  const allowed = await ask('GET', '/api/courses', { token: 'good' })
  t.equal(allowed.status, 200)
  t.equal(allowed.text, '')
  t.equal(allowed.headers.get('x-auth-subject'), 'user-1')
  t.equal(allowed.headers.get('x-auth-scope'), 'courses:read')
  const asserted = await ask('GET', '/api/asserted', { token: 'good' })
  t.match(asserted.headers.get('x-auth-assertion'), /^ey/)
  const anonymous = await ask('GET', '/pub/x')
  t.equal(anonymous.status, 200)
  t.equal(anonymous.headers.get('x-scopegate-decision'), 'allow')
  t.equal(anonymous.headers.get('x-auth-subject'), null)
  t.equal(upstream.requests.length, 0)
  await until('the access log has the original path', async () => logText().includes('"/pub/x"'))
})

t.test('a denial is the response of the proxy', async (t) => {
  const { ask, gateway } = await start(t, 'forward-auth')
  for (const [method, path, token] of [
    ['GET', '/api/challenged', undefined],
    ['GET', '/api/denied', undefined],
    ['GET', '/api/courses', 'narrow'],
    ['GET', '/api/courses', 'unknown'],
    ['GET', '/api/recent', 'old'],
    ['GET', '/nothing', undefined],
    ['DELETE', '/api/courses', undefined],
  ] as const) {
    const direct = await send(`${gateway.url}${path}`, { method, token })
    const decided = await ask(method, path, { token })
    t.equal(decided.status, direct.status, path)
    for (const name of ['www-authenticate', 'allow', 'content-type', 'x-scopegate-decision'])
      t.equal(decided.headers.get(name), direct.headers.get(name), `${path} ${name}`)
    t.same({ ...decided.json, request_id: '' }, { ...direct.json, request_id: '' }, path)
  }
})

t.test('a DPoP proof is verified against the original method and URL', async (t) => {
  const { ask, issuer } = await start(t, 'forward-auth')
  const key = aProofKey()
  issuer.store('bound', { scope: 'courses:write', cnf: { jkt: key.thumbprint } })
  const decide = (method: string, path: string) =>
    ask('POST', '/api/courses', {
      headers: {
        authorization: 'DPoP bound',
        dpop: aProof({ key, url: `${BASE_URL}${path}`, method, token: 'bound' }),
      },
    })
  t.equal((await decide('POST', '/api/courses')).status, 200)
  t.equal((await decide('GET', '/api/courses')).status, 401)
  t.equal((await decide('POST', '/')).status, 401)
})

t.test('missing, repeated and contradictory data of the original request opens no route', async (t) => {
  const { url } = await start(t, 'auth-request')
  const good = ['x-original-method: GET', 'x-original-uri: /pub/x']
  const ask = async (lines: readonly string[]) =>
    (
      await sendBytes(
        url,
        `GET / HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n${lines.join('\r\n')}\r\n\r\n`,
      )
    ).text
  t.match(await ask(good), /^HTTP\/1\.1 200 /)
  for (const lines of [
    [],
    ['x-original-uri: /pub/x'],
    ['x-original-method: GET'],
    [...good, 'x-original-method: GET'],
    [...good, 'x-original-uri: /pub/x'],
    [...good, 'x-forwarded-uri: /pub/y'],
    [...good, 'x-forwarded-method: POST'],
    [...good, 'content-length: 1'],
    [...good, 'transfer-encoding: chunked'],
    ['x-original-method: get', 'x-original-uri: /pub/x'],
    ['x-original-method: NOPE', 'x-original-uri: /pub/x'],
    ['x-original-method: GET', 'x-original-uri: http://api.test/pub/x'],
    ['x-original-method: OPTIONS', 'x-original-uri: *'],
    ['x-original-method: GET', 'x-original-uri: /pub/x#y'],
    ['x-original-method: GET', 'x-original-uri: /pub/%252e%252e/../api/denied'],
    ['x-original-method: GET', 'x-original-uri:'],
    ['x-forwarded-method: GET', 'x-forwarded-uri: /pub/x'],
  ]) {
    const answer = await ask(lines)
    t.match(answer, /^HTTP\/1\.1 403 /, lines.join(' '))
    t.match(answer, /x-scopegate-status: 400\r\n/, lines.join(' '))
  }
})

t.test('a header name that some servers read as a header of the gateway gets no decision', async (t) => {
  for (const protocol of ['auth-request', 'forward-auth'] as const) {
    const { ask } = await start(t, protocol)
    for (const name of [
      'X-Auth_Subject',
      'x!auth!scope',
      'Remote_User',
      'X_HTTP_Method_Override',
      'Content_Length',
    ]) {
      const denied = await ask('GET', '/pub/x', { token: 'good', headers: { [name]: '0' } })
      const status =
        protocol === 'forward-auth' ? denied.status : Number(denied.headers.get('x-scopegate-status'))
      t.equal(status, 400, `${protocol} ${name}`)
      t.match(denied.json['error_description'], /another spelling/, `${protocol} ${name}`)
      t.equal(denied.headers.get('x-auth-subject'), null)
    }
    t.equal(
      (await ask('GET', '/pub/x', { headers: { school_id: '7' } })).status,
      200,
      'names of other headers',
    )
  }
})

t.test('an offer to upgrade the connection gets no decision', async (t) => {
  for (const protocol of ['auth-request', 'forward-auth', 'ext-authz-http'] as const) {
    const { url } = await start(t, protocol)
    const ask = async (lines: string) =>
      (
        await sendBytes(
          url,
          `GET /pub/x HTTP/1.1\r\nhost: api.test\r\nx-original-method: GET\r\nx-original-uri: /pub/x\r\nx-forwarded-method: GET\r\nx-forwarded-uri: /pub/x\r\n${lines}\r\n`,
        )
      ).statuses
    t.same(await ask('connection: close\r\n'), [200], protocol)
    const status = protocol === 'auth-request' ? 403 : 400
    t.same(await ask('connection: upgrade, close\r\nupgrade: websocket\r\n'), [status], protocol)
    t.same(await ask('connection: close\r\nupgrade: h2c\r\n'), [status], `${protocol} without Connection`)
  }
})

t.test('an allowed request lists the headers that the ingress must remove', async (t) => {
  const headers = {
    ...{ cookie: 'session=root', dpop: 'x', forwarded: 'for=6.6.6.6', 'remote-user': 'root', accept: '*/*' },
    ...{ 'proxy-authorization': 'Basic root', te: 'trailers', 'x-forwarded-for': '6.6.6.6' },
  }
  const removed = async (protocol: DecisionProtocol, path: string) => {
    const { url, ask } = await start(t, protocol)
    const allowed =
      protocol === 'ext-authz-http'
        ? await send(`${url}${path}`, { token: 'good', headers })
        : await ask('GET', path, { token: 'good', headers })
    t.equal(allowed.status, 200)
    const name = protocol === 'ext-authz-http' ? 'x-envoy-auth-headers-to-remove' : 'x-scopegate-remove'
    return allowed.headers.get(name)?.split(',').toSorted()
  }
  t.same(await removed('forward-auth', '/api/courses'), [
    ...['authorization', 'cookie', 'dpop', 'forwarded', 'proxy-authorization', 'remote-user', 'te'],
    ...['x-forwarded-for', 'x-forwarded-method', 'x-forwarded-uri'],
  ])
  t.same(await removed('forward-auth', '/api/trusted'), [
    ...['dpop', 'forwarded', 'proxy-authorization', 'remote-user', 'te'],
    ...['x-forwarded-for', 'x-forwarded-method', 'x-forwarded-uri'],
  ])
  t.same(
    await removed('ext-authz-http', '/api/courses'),
    ['authorization', 'cookie', 'dpop', 'forwarded', 'proxy-authorization', 'remote-user'],
    'Envoy itself handles TE and X-Forwarded-For',
  )
  t.equal(await removed('auth-request', '/api/courses'), undefined)
})

t.test('ext-authz-http decides on the method and the target of the request itself', async (t) => {
  const { decisions, gateway, upstream } = await startDecisionEndpoint(t, 'ext-authz-http')
  const forged = {
    'x-auth-subject': 'root',
    x_auth_scope: 'courses:write',
    'x-original-uri': '/pub/x',
    'x-forwarded-method': 'GET',
  }
  const allowed = await send(`${decisions}/api/courses?a=1`, { token: 'good', headers: forged })
  t.equal(allowed.status, 200)
  t.equal(allowed.headers.get('x-auth-subject'), 'user-1')
  t.same(allowed.headers.get('x-envoy-auth-headers-to-remove')?.split(',').sort(), [
    'authorization',
    'x-forwarded-method',
    'x-original-uri',
    'x_auth_scope',
  ])
  for (const [method, path, token] of [
    ['GET', '/api/challenged', undefined],
    ['GET', '/api/courses', 'narrow'],
    ['DELETE', '/api/courses', undefined],
    ['GET', '/nothing', undefined],
  ] as const) {
    const direct = await send(`${gateway.url}${path}`, { method, token })
    const decided = await send(`${decisions}${path}`, { method, token, headers: forged })
    t.equal(decided.status, direct.status, path)
    for (const name of ['www-authenticate', 'allow'])
      t.equal(decided.headers.get(name), direct.headers.get(name), `${path} ${name}`)
    t.same({ ...decided.json, request_id: '' }, { ...direct.json, request_id: '' }, path)
  }
  t.equal(upstream.requests.length, 0)
  for (const head of [
    'GET http://api.test/pub/x HTTP/1.1\r\nhost: api.test',
    'GET /pub/x HTTP/1.1\r\nhost: api.test\r\nhost: api.test',
    'GET /pub/%2e%2e/api/denied HTTP/1.1\r\nhost: api.test',
    'GET /pub/x HTTP/1.1\r\nhost: api.test\r\ncontent-length: 1',
    'GET /pub/x HTTP/1.1\r\nhost: api.test\r\ntransfer-encoding: chunked',
    'GET /pub/x HTTP/1.1',
  ])
    t.match((await sendBytes(decisions, `${head}\r\nconnection: close\r\n\r\n`)).statuses, [400], head)
})

t.test('ext-authz-http rejects a path whose bytes Envoy may have replaced', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'ext-authz-http')
  const denied = await send(`${decisions}/pub/!`)
  t.equal(denied.status, 400)
  t.match(denied.json['error_description'], /%21/)
  t.equal((await send(`${decisions}/pub/%21?a=!`)).status, 200)
  const { ask } = await start(t, 'forward-auth')
  t.equal((await ask('GET', '/pub/!')).status, 200, 'other products send the bytes of the client')
})

t.test('auth-request: a request head that is too large or invalid is a denial', async (t) => {
  for (const protocol of ['auth-request', 'forward-auth'] as const) {
    const { url } = await start(t, protocol)
    for (const [status, lines] of [
      [431, `x-large: ${'x'.repeat(20 * 1024)}`],
      [400, 'x-name: a\u0001b'],
    ] as const) {
      const { text } = await sendBytes(url, `GET / HTTP/1.1\r\nhost: api.test\r\n${lines}\r\n\r\n`)
      const [head = '', body = ''] = text.split('\r\n\r\n')
      t.equal(JSON.parse(body).error, 'invalid_request')
      if (protocol === 'forward-auth') t.match(head, new RegExp(`^HTTP/1.1 ${status} `))
      else {
        t.match(head, /^HTTP\/1\.1 403 Forbidden\r\n/)
        t.match(head, `\r\nx-scopegate-status: ${status}\r\n`)
        t.match(head, `\r\nx-scopegate-body: ${body.trim()}`)
      }
    }
  }
})

t.test('a peer outside trustedProxies gets no decision', async (t) => {
  const { ask } = await start(t, 'forward-auth', ['192.0.2.1'])
  t.equal((await ask('GET', '/pub/x')).status, 400)
})

t.test('a response of the gateway itself, and a route that needs the proxy, are not "allowed"', async (t) => {
  const { ask } = await start(t, 'forward-auth')
  for (const [method, path] of [
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/openapi.json'],
    ['GET', '/'],
    ['OPTIONS', '/api/courses'],
    ['POST', '/api/oauth/token'],
    ['GET', '/api/moved'],
    ['GET', '/api/edited'],
    ['GET', '/api/socket'],
  ] as const)
    t.equal((await ask(method, path)).status, 404, `${method} ${path}`)
})

t.test('a rate limit counts decisions', async (t) => {
  const { ask } = await start(t, 'auth-request')
  const first = await ask('GET', '/api/limited')
  t.equal(first.status, 200)
  t.match(first.headers.get('ratelimit'), /r=0/)
  const second = await ask('GET', '/api/limited')
  t.equal(second.status, 403)
  t.equal(second.headers.get('x-scopegate-status'), '429')
  t.ok(second.headers.get('retry-after'))
})

t.test(
  'the decision endpoint decides on a route without an upstream, and the proxy responds 404',
  async (t) => {
    const policy = `apiVersion: scopegate/v1
kind: Policy
name: decided
routes:
  - { name: courses, match: { methods: [GET], path: /api/courses }, anonymous: challenge, scopes: { all: [courses:read] } }
  - { name: tried, match: { methods: [GET], path: /api/tried }, anonymous: deny, enforce: report }
`
    const { decisions, gateway, log, upstream } = await startDecisionEndpoint(t, 'forward-auth', { policy })
    const ask = (path: string, token?: string) =>
      send(decisions, { token, headers: { 'x-forwarded-method': 'GET', 'x-forwarded-uri': path } })
    const allowed = await ask('/api/courses', 'good')
    t.equal(allowed.status, 200)
    t.equal(allowed.headers.get('x-auth-subject'), 'user-1')
    const denied = await ask('/api/courses')
    t.equal(denied.status, 401)
    t.match(denied.headers.get('www-authenticate'), /scope="courses:read"/)
    t.equal((await ask('/api/tried')).status, 200, 'audit-only mode applies no denial')
    for (const token of ['good', undefined]) {
      const direct = await send(`${gateway.url}/api/courses`, { token })
      t.equal(direct.status, 404)
      t.equal(direct.json['error'], 'not_found')
      t.equal(direct.headers.get('www-authenticate'), null)
    }
    t.equal(upstream.requests.length, 0)
    const logged = (path: string, status: number) =>
      log().find(
        (line) =>
          line['event'] === 'access' &&
          line['url.path'] === path &&
          line['http.response.status_code'] === status,
      )
    await until('the access log has all requests', async () => logged('/api/courses', 404) !== undefined)
    t.match(logged('/api/courses', 404), { 'error.code': 'ERR_NO_UPSTREAM', 'error.type': 'route_unknown' })
    t.match(logged('/api/tried', 200), { 'auth.decision': 'allow', 'auth.would': 'deny' })
  },
)

t.test('the decision endpoint serves the documents that the ingress forwards', async (t) => {
  const { decisions, gateway, log } = await startDecisionEndpoint(t, 'auth-request')
  for (const path of [
    '/.well-known/oauth-protected-resource',
    '/.well-known/api-catalog',
    '/openapi.json',
    '/auth.md',
  ]) {
    const direct = await send(`${gateway.url}${path}`)
    const served = await send(`${decisions}${path}`)
    t.equal(served.status, 200, path)
    t.equal(served.text, direct.text, path)
    t.equal(served.headers.get('content-type'), direct.headers.get('content-type'), path)
    const etag = String(served.headers.get('etag'))
    t.equal((await send(`${decisions}${path}`, { headers: { 'if-none-match': etag } })).status, 304, path)
  }
  const unknown = await send(`${decisions}/.well-known/unknown`)
  t.equal(unknown.status, 404)
  t.equal(unknown.headers.get('x-scopegate-status'), null)
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/pub/x'],
    ['OPTIONS', '/api/oauth/token'],
    ['OPTIONS', '/nothing'],
    ['POST', '/api/oauth/token'],
    ['GET', '/openapi.json/x'],
  ] as const) {
    const denied = await send(`${decisions}${path}`, { method })
    t.ok(denied.status >= 400, `${method} ${path} ${denied.status}`)
    t.equal(denied.headers.get('x-scopegate-error'), '1', `${method} ${path}`)
  }
  for (const name of ['x-original-method', 'x-original-uri', 'x-forwarded-method', 'x-forwarded-uri']) {
    const headers = { 'x-original-method': 'GET', 'x-original-uri': '/api/courses', [name]: 'GET' }
    const mixed = await send(`${decisions}/.well-known/oauth-protected-resource`, { token: 'good', headers })
    t.equal(mixed.status, 400, name)
    t.equal(mixed.headers.get('x-auth-subject'), null, name)
  }
  const asked = { 'x-original-method': 'GET', 'x-original-uri': '/pub/asked' }
  t.equal((await send(decisions, { headers: asked })).status, 200)
  await send(`${gateway.url}/pub/proxied`)
  const lineOf = (path: string) => log().find((line) => line['url.path'] === path)
  await until('the access log has both requests', async () => lineOf('/pub/proxied') !== undefined)
  t.equal(lineOf('/pub/asked')?.['mode'], 'decision')
  t.equal(lineOf('/pub/proxied')?.['mode'], undefined)
  t.equal(lineOf('/openapi.json')?.['mode'], undefined)
})

t.test('ext-authz-http and an untrusted peer get no documents', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'ext-authz-http')
  t.equal((await send(`${decisions}/.well-known/oauth-protected-resource`)).status, 404)
  const untrusted = await startDecisionEndpoint(t, 'forward-auth', { trustedProxies: ['192.0.2.1'] })
  t.equal((await send(`${untrusted.decisions}/.well-known/oauth-protected-resource`)).status, 400)
})

const PREFLIGHTS = [
  ['/api/courses', 'https://app.example', 'POST'],
  ['/api/listed', 'https://app.example', 'GET'],
  ['/api/listed', 'https://app.example', 'POST'],
  ['/api/listed', 'https://other.example', 'GET'],
  ['/api/moved', 'https://app.example', 'GET'],
  ['/auth.md', 'https://app.example', 'GET'],
  ['/api/courses', undefined, undefined],
  ['/nothing', 'https://app.example', 'GET'],
] as const

/** The headers of a response that depend on the request, and not on the connection or the time. */
function stableHeaders(headers: Headers): Record<string, string> {
  const changing = ['date', 'connection', 'keep-alive', 'x-request-id', 'content-length']
  return Object.fromEntries([...headers].filter(([name]) => !changing.includes(name)))
}

for (const protocol of ['auth-request', 'forward-auth', 'ext-authz-http'] as const)
  t.test(
    `${protocol}: OPTIONS requests that the ingress forwards get the response of the proxy`,
    async (t) => {
      const { decisions, gateway, upstream } = await startDecisionEndpoint(t, protocol)
      for (const [path, origin, method] of PREFLIGHTS) {
        const headers =
          origin === undefined
            ? {}
            : {
                origin,
                'access-control-request-method': method,
                'access-control-request-headers': 'authorization',
              }
        const asked = { method: 'OPTIONS', headers }
        const direct = await send(`${gateway.url}${path}`, asked)
        const reply = await send(`${decisions}${path}`, asked)
        t.equal(reply.status, direct.status, path)
        t.same(stableHeaders(reply.headers), stableHeaders(direct.headers), path)
      }
      t.equal(upstream.requests.length, 0)
    },
  )

t.test('an OPTIONS request with headers of a request for a decision gets 400', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'forward-auth')
  for (const name of ['x-original-method', 'x-original-uri', 'x-forwarded-method', 'x-forwarded-uri']) {
    const headers = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/api/courses', [name]: 'GET' }
    const mixed = await send(`${decisions}/api/courses`, { method: 'OPTIONS', token: 'good', headers })
    t.equal(mixed.status, 400, name)
    t.equal(mixed.headers.get('x-auth-subject'), null, name)
  }
})

t.test('an allowed decision has the CORS headers of the response', async (t) => {
  const { decisions, gateway } = await startDecisionEndpoint(t, 'forward-auth')
  for (const [path, origin, token] of [
    ['/api/courses', undefined, 'good'],
    ['/api/listed', 'https://app.example', 'good'],
    ['/api/listed', 'https://other.example', 'good'],
    ['/api/listed', 'https://app.example', undefined],
  ] as const) {
    const page = origin === undefined ? {} : { origin }
    const direct = await send(`${gateway.url}${path}`, { token, headers: page })
    const decided = await send(decisions, {
      token,
      headers: { 'x-forwarded-method': 'GET', 'x-forwarded-uri': path, ...page },
    })
    t.equal(decided.status, token === undefined ? 401 : 200)
    for (const name of ['access-control-allow-origin', 'access-control-expose-headers', 'vary'])
      t.equal(decided.headers.get(name), direct.headers.get(name), `${path} ${origin} ${name}`)
  }
})

t.test('the configuration can name the headers with method, target and client address', async (t) => {
  const { decisions } = await startDecisionEndpoint(t, 'forward-auth', {
    change: (config) => ({
      ...config,
      decisions: config.decisions && {
        ...config.decisions,
        headers: { method: 'x-asked-method', target: 'x-asked-target', clientAddress: 'x-asked-client' },
      },
    }),
  })
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    send(decisions, { headers: { 'x-asked-method': 'GET', 'x-asked-target': path, ...headers } })
  t.equal((await ask('/pub/x')).status, 200)
  t.equal((await ask('/api/denied')).status, 401)
  t.equal((await ask('/pub/x', { 'x-forwarded-method': 'GET', 'x-original-uri': '/pub/x' })).status, 200)
  for (const name of ['x-original-method', 'x-original-uri', 'x-forwarded-method', 'x-forwarded-uri'])
    t.equal((await ask('/pub/x', { [name]: '/pub/y' })).status, 400, `contradiction in ${name}`)
  const usual = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/pub/x' }
  t.equal((await send(decisions, { headers: usual })).status, 400, 'the usual names alone')
  const document = `${decisions}/.well-known/oauth-protected-resource`
  t.equal((await send(document)).status, 200)
  for (const name of ['x-asked-method', 'x-asked-target', 'x-forwarded-uri'])
    t.equal((await send(document, { headers: { [name]: 'GET' } })).status, 400, name)

  const limited = (client: string, forwarded: string) =>
    ask('/api/limited', { 'x-asked-client': client, 'x-forwarded-for': forwarded })
  t.equal((await limited('192.0.2.1', '203.0.113.1')).status, 200)
  t.equal(
    (await limited('192.0.2.1', '203.0.113.2')).status,
    429,
    'the address of X-Forwarded-For has no effect',
  )
  t.equal((await limited('192.0.2.2', '203.0.113.2')).status, 200)
})
