import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import type { GatewayConfig } from '../../gateway/config/gateway-config.ts'
import { BASE_URL, POLICY, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aProof, aProofKey } from '../fixtures/dpop-proof.ts'
import { PATH_SPELLINGS } from '../fixtures/path-spellings.ts'
import type { RecordingUpstream } from '../fixtures/recording-upstream.ts'
import { type Message, send } from '../fixtures/send.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import { until } from '../fixtures/until.ts'

const RICHER = `${POLICY}  - { name: recent, match: { methods: [GET], path: /api/recent }, anonymous: challenge, scopes: { all: [courses:read] }, authentication: { maxAge: 5m } }
  - { name: moved, match: { methods: [GET], path: /api/moved }, rewrite: { path: /elsewhere } }
  - { name: edited, match: { methods: [GET], path: /api/edited }, headers: { request: { remove: [x-debug] } } }
  - { name: socket, match: { methods: [GET], path: /api/socket }, websocket: true }
  - { name: limited, match: { methods: [GET], path: /api/limited }, rateLimit: { requests: 1, per: 1h, by: ip } }
`
type Protocol = NonNullable<GatewayConfig['decisions']>['protocol']

async function start(t: Test, protocol: Protocol, trustedProxies = ['127.0.0.1']) {
  const gateway = await startGatewayUnderTest(t, {
    policy: RICHER,
    change: (config) => ({
      ...config,
      trustedProxies,
      decisions: { listen: { host: '127.0.0.1', port: 0 }, protocol },
    }),
  })
  gateway.issuer.store('good', { sub: 'user-1', client_id: 'client-1', scope: 'courses:read' })
  gateway.issuer.store('narrow', { sub: 'user-1', client_id: 'client-1', scope: 'posts:read' })
  gateway.issuer.store('old', { scope: 'courses:read', auth_time: 1_000 })
  const url = String(gateway.log().find(({ event }) => event === 'serving_decisions')?.['url'])
  const [methodName, targetName] =
    protocol === 'auth-request'
      ? ['x-original-method', 'x-original-uri']
      : ['x-forwarded-method', 'x-forwarded-uri']
  const ask = (method: string, target: string, message: Message = {}) =>
    send(url, { ...message, headers: { [methodName]: method, [targetName]: target, ...message.headers } })
  return { ...gateway, url, ask }
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
    for (const name of ['www-authenticate', 'allow', 'content-type'])
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

t.test('a peer outside trustedProxies gets no decision', async (t) => {
  const { ask } = await start(t, 'forward-auth', ['192.0.2.1'])
  t.equal((await ask('GET', '/pub/x')).status, 400)
})

t.test('a response of the gateway itself, and a route that needs the proxy, are not "allowed"', async (t) => {
  const { ask } = await start(t, 'forward-auth')
  for (const [method, path] of [
    ['GET', '/.well-known/oauth-protected-resource'],
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
  t.equal((await ask('GET', '/api/limited')).status, 200)
  const second = await ask('GET', '/api/limited')
  t.equal(second.status, 403)
  t.equal(second.headers.get('x-scopegate-status'), '429')
  t.ok(second.headers.get('retry-after'))
})

t.test('nginx forwards allowed requests only, and returns each denial unchanged', async (t) => {
  const { url, gateway, upstream, issuer } = await start(t, 'auth-request')
  const key = aProofKey()
  issuer.store('bound', { scope: 'courses:read', cnf: { jkt: key.thumbprint } })
  const nginxUrl = await startNginx(t, { decisions: url, gateway: gateway.url, upstream: upstream.url })

  const allowed = await send(`${nginxUrl}/api/courses?a=1`, {
    token: 'good',
    headers: { 'x-auth-subject': 'root' },
  })
  t.equal(allowed.status, 200)
  t.same(upstream.seen('x-auth-subject'), ['user-1'])
  t.same(upstream.seen('authorization'), [])
  t.equal(
    (await send(`${nginxUrl}/pub/x`, { method: 'POST', body: 'text', headers: { 'x-auth-subject': 'root' } }))
      .status,
    200,
  )
  t.same(upstream.seen('x-auth-subject'), [], 'an anonymous request has no identity header')
  const proof = aProof({ key, url: `${BASE_URL}/api/courses`, token: 'bound' })
  const bound = { headers: { authorization: 'DPoP bound', dpop: proof } }
  t.equal((await send(`${nginxUrl}/api/courses`, bound)).status, 200)
  t.equal((await send(`${nginxUrl}/api/courses`, bound)).status, 401, 'a repeated proof')

  for (const [method, path, token] of [
    ['GET', '/api/challenged', undefined],
    ['GET', '/api/courses', 'narrow'],
    ['GET', '/api/courses', 'unknown'],
    ['GET', '/api/recent', 'old'],
    ['GET', '/nothing', undefined],
    ['PUT', '/api/courses', undefined],
  ] as const) {
    const direct = await send(`${gateway.url}${path}`, { method, token })
    const denied = await send(`${nginxUrl}${path}`, { method, token })
    t.equal(denied.status, direct.status, path)
    for (const name of ['www-authenticate', 'allow', 'content-type'])
      t.equal(denied.headers.get(name), direct.headers.get(name), `${path} ${name}`)
    t.same({ ...denied.json, request_id: '' }, { ...direct.json, request_id: '' }, path)
  }
  t.same(await spellings(url, upstream), [], 'the decision endpoint forwards nothing')
  const forwarded = new Set(await spellings(gateway.url, upstream))
  const reached = await spellings(nginxUrl, upstream)
  t.ok(reached.length > 0)
  t.same(
    reached.filter((target) => !forwarded.has(target)),
    [],
    'nginx forwards no spelling that the proxy rejects',
  )
})

/**
 * Sends each spelling of a protected path without a token. Returns the targets that reached the upstream, with
 * percent-encoding in upper case.
 */
async function spellings(url: string, upstream: RecordingUpstream): Promise<readonly string[]> {
  const before = upstream.requests.length
  for (const [, spell] of PATH_SPELLINGS)
    await sendBytes(
      url,
      `GET ${spell('/api/denied')} HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\n\r\n`,
    )
  return upstream.requests
    .slice(before)
    .map(({ target }) => target.replace(/%../g, (hex) => hex.toUpperCase()))
}

async function startNginx(t: Test, to: { decisions: string; gateway: string; upstream: string }) {
  const port = await freePort()
  const authority = (url: string) => new URL(url).host
  const example = readFileSync(
    resolve(import.meta.dirname, '../../examples/decision-mode/nginx/nginx.conf'),
    'utf8',
  )
  const dir = t.testdir({})
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (one) => `${one}_temp_path ${dir}/${one};`,
  )
  const config = example
    .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:4010', authority(to.decisions))
    .replaceAll('127.0.0.1:4000', authority(to.gateway))
    .replaceAll('127.0.0.1:5000', authority(to.upstream))
    .replace('http {', `http { access_log off; ${temp.join(' ')}`)
  const file = join(
    t.testdir({
      'nginx.conf': `pid ${dir}/nginx.pid;\nerror_log stderr;\ndaemon off;\nmaster_process off;\n${config}`,
    }),
    'nginx.conf',
  )
  const nginx = spawn('nginx', ['-c', file, '-p', dir], { stdio: 'ignore' })
  t.teardown(async () => {
    nginx.kill()
    if (nginx.exitCode === null && nginx.signalCode === null) await once(nginx, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  await until(
    'nginx listens',
    async () => (await send(`${url}/pub/ready`).catch(() => undefined))?.status === 200,
  )
  return url
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
