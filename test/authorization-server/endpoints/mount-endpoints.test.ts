import type { IncomingMessage, ServerResponse } from 'node:http'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { errorPage } from '../../../authorization-server/endpoints/error-page.ts'
import {
  type MountEndpointsOptions,
  mountEndpoints,
} from '../../../authorization-server/endpoints/mount-endpoints.ts'
import type { Engine, EngineRequest } from '../../../authorization-server/engine/engine.ts'
import { createLook } from '../../../authorization-server/pages/look.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'
import { headerSet } from '../../fixtures/header-set.ts'
import { type Message, send } from '../../fixtures/send.ts'
import { sendExactly } from '../../fixtures/send-exactly.ts'

const ISSUER = 'https://login.example'
const ADDRESS = '203.0.113.9'
const ORIGIN = { requestId: 'request-1', clientAddress: ADDRESS }

/** Starts a server with all endpoints and a fake engine that records calls. */
async function startEndpoints(
  t: Test,
  overrides: Partial<Omit<MountEndpointsOptions, 'engine'>> = {},
  engine: Partial<Pick<Engine, 'handle' | 'findGrantedResources'>> = {},
) {
  const handled: Omit<EngineRequest, 'onPushed' | 'onClient'>[] = []
  const counted: (readonly string[])[] = []
  const logged: unknown[] = []
  const taken: unknown[] = []
  const pushed: string[] = []
  const app = Fastify({ genReqId: () => 'request-1', trustProxy: 'loopback' })
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('x-from-fastify', 'yes')
    reply.header('x-list', ['a', 'b'])
  })
  mountEndpoints(app, {
    engine: {
      handle: async (_request: IncomingMessage, response: ServerResponse, options: EngineRequest) => {
        const { onPushed, onClient: _, body, ...rest } = options
        onPushed?.('urn:pushed')
        handled.push({ ...rest, ...(body === undefined ? {} : { body: body.toString() as never }) })
        response.writeHead(200, { 'x-from-engine': 'yes' }).end('by the engine')
        return 'result-1'
      },
      findGrantedResources: async () => undefined,
      ...engine,
    } as Engine,
    issuer: ISSUER,
    resources: [ISSUER],
    catalogue: aCatalogue(),
    registration: { loopbackHosts: ['127.0.0.1'], bodyLimitBytes: 200 },
    presentation: { serviceName: 'Platform', look: createLook() },
    compat: { defaultScope: undefined, optionalState: false, loopbackRedirects: false },
    registrationLimit: {
      take: (address) => {
        taken.push([address])
        return undefined
      },
    },
    authorizationLimit: {
      take: (source, requestUri) => {
        taken.push([source, requestUri])
        return undefined
      },
      pushed: (requestUri) => void pushed.push(requestUri),
    },
    authenticateIntegration: () => undefined,
    logger: { error: (fields: unknown, text?: string) => void logged.push([fields, text]) },
    count: (...counts) => void counted.push(counts),
    ...overrides,
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  return {
    url,
    pushed,
    logged,
    /**
     * Sends a request. Returns the response, the calls to the engine, the counted results and the uses of the rate
     * limits.
     */
    ask: async (path: string, message: Message = {}) => {
      const headersSent = { 'x-forwarded-for': ADDRESS, ...message.headers }
      const { status, json, text, headers } = await send(`${url}${path}`, {
        ...message,
        headers: headersSent,
      })
      return {
        answer: { status, json, text, headers: headerSet(headers) },
        handled: handled.splice(0),
        counted: counted.splice(0),
        taken: taken.splice(0),
      }
    },
  }
}

const FORM = 'application/x-www-form-urlencoded'
const FROM_FASTIFY = { 'x-from-fastify': 'yes', 'x-list': 'a, b' }
const rejection = (status: number, error: string, description: string, headers: object = {}) => ({
  status,
  json: { error, error_description: description },
  text: JSON.stringify({ error, error_description: description }),
  headers: {
    ...FROM_FASTIFY,
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    ...headers,
  },
})

t.test('passes each request to the engine, with the headers of the server', async (t) => {
  const { ask } = await startEndpoints(t)
  const answer = {
    status: 200,
    json: {},
    text: 'by the engine',
    headers: { ...FROM_FASTIFY, 'x-from-engine': 'yes' },
  }
  for (const [path, endpoint] of [
    ['/oauth/authorize/uid-1', 'resume'],
    ['/api/oauth/jwks', 'jwks'],
    ['/.well-known/oauth-authorization-server', 'discovery'],
    ['/.well-known/openid-configuration', 'discovery'],
  ] as const)
    t.strictSame(await ask(path), {
      answer,
      handled: [{ origin: ORIGIN }],
      counted: [[endpoint, '-', 'result-1']],
      taken: [],
    })
  for (const [path, endpoint] of [
    ['/api/oauth/token', 'token'],
    ['/api/oauth/revoke', 'revocation'],
    ['/api/oauth/introspect', 'introspection'],
  ] as const)
    t.strictSame(await ask(path, { form: { grant_type: 'g', client_secret: 'x', 'a b': 'é' } }), {
      answer,
      handled: [
        { body: 'grant_type=g&client_secret=x&a+b=%C3%A9', grantType: 'g', origin: ORIGIN },
      ] as unknown[],
      counted: [[endpoint, 'g', 'result-1']],
      taken: [],
    })
  t.strictSame((await ask('/api/oauth/revoke', { form: { token: 'x' } })).counted, [
    ['revocation', '-', 'result-1'],
  ])
})

t.test('a HEAD request reaches documents, but not the authorization endpoint', async (t) => {
  const { ask } = await startEndpoints(t)
  t.equal((await ask('/api/oauth/jwks', { method: 'HEAD' })).handled.length, 1)
  for (const path of ['/oauth/authorize', '/oauth/authorize/uid-1']) {
    const { answer, handled } = await ask(path, { method: 'HEAD' })
    t.strictSame([answer.status, handled], [404, []], path)
  }
})

t.test('limits the body of a form to 32 KiB, and of a registration to its setting', async (t) => {
  const { ask } = await startEndpoints(t)
  const statusOf = async (path: string, contentType: string, body: string) =>
    (await ask(path, { body, headers: { 'content-type': contentType } })).answer.status
  const form = (length: number) => `token=${'x'.repeat(length - 6)}`
  t.equal(await statusOf('/api/oauth/revoke', FORM, form(32_768)), 200)
  t.equal(await statusOf('/api/oauth/revoke', FORM, form(32_769)), 413)
  const metadata = '{"redirect_uris":["http://127.0.0.1/callback"]}'
  t.equal(await statusOf('/api/oauth/register', 'application/json', metadata.padEnd(200)), 400)
  t.equal(await statusOf('/api/oauth/register', 'application/json', metadata.padEnd(201)), 413)
})

t.test('the server logs and counts an exception of the engine, and closes the connection', async (t) => {
  const failure = new Error('unexpected')
  const origin = { request_id: 'request-1', 'client.address': '127.0.0.1' }
  const handle = async () => Promise.reject(failure)
  const counted: (readonly string[])[] = []
  const count = (...counts: readonly string[]) => void counted.push(counts)
  const { url, logged } = await startEndpoints(t, { count }, { handle })
  await t.rejects(send(`${url}/api/oauth/jwks`))
  await t.rejects(send(`${url}/api/oauth/token`, { form: { grant_type: 'g' } }))
  t.strictSame(logged, [
    [{ event: 'failed', ...origin, endpoint: 'jwks', err: failure }, 'request failed'],
    [{ event: 'failed', ...origin, endpoint: 'token', err: failure }, 'request failed'],
  ])
  t.strictSame(counted, [
    ['jwks', '-', 'server_error'],
    ['token', 'g', 'server_error'],
  ])
})

t.test('a form that is rejected does not reach the engine', async (t) => {
  const { ask } = await startEndpoints(t)
  const form = { grant_type: 'g', resource: 'https://other.example' }
  const basic = { authorization: 'Basic abc' }
  const secretMissing =
    'Introspection needs client authentication: send client_id and client_secret in the form body.'
  const noHeader = 'This endpoint does not accept an Authorization header: send client_id in the form body.'
  for (const [path, message, expected, counts] of [
    [
      '/api/oauth/token',
      { body: '', headers: { 'content-type': 'text/plain' } },
      rejection(
        400,
        'invalid_request',
        'Send the parameters as application/x-www-form-urlencoded in the body.',
      ),
      ['token', '-', 'invalid_request'],
    ],
    [
      '/api/oauth/revoke',
      { form, headers: basic },
      rejection(
        401,
        'invalid_client',
        'This endpoint does not support HTTP Basic: send client_id and client_secret in the form body (client_secret_post).',
        { 'www-authenticate': 'Basic realm="https://login.example", error="invalid_client"' },
      ),
      ['revocation', 'g', 'invalid_client'],
    ],
    [
      '/api/oauth/par',
      { form, headers: { authorization: 'Bearer abc' } },
      rejection(400, 'invalid_request', noHeader),
      ['pushed_authorization_request', 'g', 'invalid_request'],
    ],
    [
      '/api/oauth/introspect',
      { form: { token: 'x' } },
      rejection(401, 'invalid_client', secretMissing),
      ['introspection', '-', 'invalid_client'],
    ],
    [
      '/api/oauth/token',
      { form },
      rejection(
        400,
        'invalid_target',
        'resource must be https://login.example, the only API this server issues tokens for',
      ),
      ['token', 'g', 'invalid_target'],
    ],
  ] as const)
    t.strictSame(await ask(path, message as Message), {
      answer: expected,
      handled: [],
      counted: [counts],
      taken: [],
    })
  const revoked = await ask('/api/oauth/revoke', { form })
  t.equal(revoked.handled.length, 1, 'only the token endpoint checks the resource')
})

t.test('canonicalizes the resource of a form', async (t) => {
  const { ask } = await startEndpoints(t)
  for (const path of ['/api/oauth/token', '/api/oauth/revoke', '/api/oauth/par']) {
    const { handled } = await ask(path, { form: { resource: `${ISSUER.toUpperCase()}/` } })
    t.match(handled, [{ body: 'resource=https%3A%2F%2Flogin.example' }], path)
  }
})

t.test('the engine gets the original URL of an authorization request that needs no change', async (t) => {
  const { ask } = await startEndpoints(t)
  const path = '/oauth/authorize'
  const counted = [['authorization', '-', 'result-1']]
  for (const query of ['', '?', '?a=b?c&a=%20', '?scope='])
    t.strictSame(
      (({ answer: _answer, ...calls }) => calls)(await ask(path + query)),
      { handled: [{ origin: ORIGIN }], counted, taken: [[ADDRESS, '']] },
      query,
    )
  const changed = await ask(`${path}?a=b?c&resource=${ISSUER}/`)
  t.strictSame(changed.handled, [
    { url: '/oauth/authorize?a=b%3Fc&resource=https%3A%2F%2Flogin.example', origin: ORIGIN },
  ])
  t.strictSame((await ask(`${path}?request_uri=urn:a`)).taken, [[ADDRESS, 'urn:a']])
})

t.test('adds the default scope to a request without scope and request_uri', async (t) => {
  const compat = { defaultScope: 'openid email', optionalState: false, loopbackRedirects: false }
  const { ask } = await startEndpoints(t, { compat })
  const urls = async (query: string) => (await ask(`/oauth/authorize${query}`)).handled.map(({ url }) => url)
  t.strictSame(await urls('?a=b'), ['/oauth/authorize?a=b&scope=openid+email'])
  t.strictSame(await urls('?scope=&request_uri='), ['/oauth/authorize?scope=openid+email&request_uri='])
  t.strictSame(await urls('?scope=x'), [undefined])
  t.strictSame(await urls('?request_uri=urn:a'), [undefined])
  const { handled } = await ask('/api/oauth/par', { form: { a: 'b' } })
  t.match(handled, [{ body: 'a=b&scope=openid+email' }])
  const token = await ask('/api/oauth/token', { form: { a: 'b' } })
  t.match(token.handled, [{ body: 'a=b' }])
})

t.test('a pushed request counts against the limit of its integration, or of its address', async (t) => {
  const authenticateIntegration = (form: URLSearchParams) =>
    form.get('client_secret') === 'x' ? 'mailer' : undefined
  const { ask, pushed } = await startEndpoints(t, { authenticateIntegration })
  const path = '/api/oauth/par'
  const known = await ask(path, { form: { client_secret: 'x', request_uri: 'urn:a' } })
  // The key contains the SHA-256 hash of the client ID `mailer` in base64url.
  t.strictSame(known.taken, [['client LkMwuAZBIlvT4b5znt-VMq7jNw5soYjUWjLlVNaMLjQ', undefined]])
  t.strictSame(known.handled, [
    {
      body: 'client_secret=x&request_uri=urn%3Aa',
      integrationId: 'mailer',
      origin: ORIGIN,
    },
  ] as unknown[])
  t.strictSame(known.counted, [['pushed_authorization_request', '-', 'result-1']])
  t.strictSame(pushed, ['urn:pushed'])
  const other = await ask(path, { form: { a: 'b' } })
  t.strictSame(other.taken, [[ADDRESS, undefined]])
  t.strictSame(other.handled, [{ body: 'a=b', integrationId: undefined, origin: ORIGIN }] as unknown[])
})

t.test('an authorization request over a limit is rejected', async (t) => {
  const authorizationLimit = { take: () => ({ retryAfterSeconds: 7 }), pushed: () => undefined }
  const authenticateIntegration = (form: URLSearchParams) => form.get('client_id') ?? undefined
  const { ask } = await startEndpoints(t, { authorizationLimit, authenticateIntegration })
  const limited = (text: string) => rejection(429, 'rate_limited', text, { 'retry-after': '7' })
  const fromAddress = 'Too many authorization requests came from this address. Try again in 7 seconds.'
  t.strictSame(await ask('/oauth/authorize'), {
    answer: limited(fromAddress),
    handled: [],
    counted: [['authorization', '-', 'rate_limited']],
    taken: [],
  })
  t.strictSame(await ask('/api/oauth/par', { form: { grant_type: 'g' } }), {
    answer: limited(fromAddress),
    handled: [],
    counted: [['pushed_authorization_request', '-', 'rate_limited']],
    taken: [],
  })
  t.strictSame(
    (await ask('/api/oauth/par', { form: { client_id: 'mailer' } })).answer,
    limited('Too many authorization requests came from this client. Try again in 7 seconds.'),
  )
  t.strictSame(
    (await ask(`/oauth/authorize?state=${'x'.repeat(2_049)}`)).answer,
    rejection(400, 'invalid_request', 'state is longer than 2048 characters.'),
  )
})

t.test('a browser gets a page for an error of the authorization endpoint', async (t) => {
  const authorizationLimit = { take: () => ({ retryAfterSeconds: 7 }), pushed: () => undefined }
  const { url, ask } = await startEndpoints(t, { authorizationLimit })
  const headers = { accept: 'application/xml, text/html;q=0.9' }
  const { answer } = await ask('/oauth/authorize', { headers })
  t.equal(answer.status, 429)
  const { 'content-security-policy': policy, ...others } = answer.headers
  t.match(policy, /; form-action 'none'$/)
  t.strictSame(others, {
    ...FROM_FASTIFY,
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    'referrer-policy': 'no-referrer',
    'retry-after': '7',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    vary: 'accept-language',
    'content-language': 'en',
  })
  t.match(answer.text, '<title>Too many sign-ins were started · Platform</title>')
  t.match(answer.text, '<pre lang="en">rate_limited: Too many authorization requests came from this address.')
  t.match(answer.text, '<footer>Request request-1</footer>')
  for (const other of [
    (await ask('/api/oauth/par', { headers, form: {} })).answer,
    await sendExactly(url, '/oauth/authorize'), // without an Accept header
  ])
    t.match(other, { status: 429, json: { error: 'rate_limited' } })
  const long = await ask(`/oauth/authorize?state=${'x'.repeat(2_049)}`, { headers })
  t.strictSame([long.answer.status, long.answer.headers['retry-after']], [400, undefined])
})

t.test('errorPage() shows the request ID of the response and sets its headers', async (t) => {
  const app = Fastify()
  app.get('/:id', async (request, reply) => {
    const { id } = request.params as { readonly id: string }
    if (id !== 'none') reply.raw.setHeader('x-request-id', id)
    reply.hijack()
    reply.raw.end(
      errorPage({ error: 'server_error', description: 'why' }, reply.raw, {
        serviceName: 'Platform',
        look: createLook(),
      }),
    )
    return reply
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const shown = await send(`${url}/request-9`)
  t.match(shown.text, '<title>Something went wrong on our side · Platform</title>')
  t.match(shown.text, '<pre lang="en">server_error: why</pre>')
  t.match(shown.text, '<footer>Request request-9</footer>')
  const { 'content-security-policy': policy, ...headers } = headerSet(shown.headers)
  t.match(policy, /; form-action 'none'$/)
  t.strictSame(headers, {
    'cache-control': 'no-store',
    'content-type': 'text/html; charset=utf-8',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    vary: 'accept-language',
    'content-language': 'en',
    'x-request-id': 'request-9',
  })
  t.notMatch((await send(`${url}/none`)).text, '<footer>')
})

t.test('a registration is checked, counted by address, and normalized', async (t) => {
  const { ask } = await startEndpoints(t)
  const path = '/api/oauth/register'
  const redirect_uris = ['http://127.0.0.1:4000/callback']
  const body = JSON.stringify({
    application_type: 'native',
    redirect_uris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    registered_scope: 'courses:read',
  })
  const registered = await ask(path, { json: { redirect_uris, scope: 'courses:read other' } })
  t.strictSame(registered.handled, [{ body, origin: ORIGIN }] as unknown[])
  t.strictSame(registered.taken, [[ADDRESS]])
  t.strictSame(registered.counted, [['registration', '-', 'result-1']])

  const malformed = await ask(path, { json: [] })
  t.strictSame(malformed.answer, rejection(400, 'invalid_request', 'The body is not a JSON object.'))
  t.strictSame(malformed.counted, [['registration', '-', 'invalid_request']])
  const rejected = await ask(path, { json: {} })
  t.match(rejected.answer, { status: 400, json: { error: 'invalid_redirect_uri' } })
  t.strictSame(rejected.taken, [])
  for (const uri of ['http://localhost:4000/callback', 'http://127.0.0.1/callback'])
    t.equal((await ask(path, { json: { redirect_uris: [uri] } })).answer.status, 400, uri)
})

t.test('with compat.loopbackRedirects, a redirect may name localhost and omit the port', async (t) => {
  const compat = { defaultScope: undefined, optionalState: false, loopbackRedirects: true }
  const { ask } = await startEndpoints(t, { compat })
  for (const uri of [
    'http://localhost:4000/callback',
    'http://127.0.0.1:4000/callback',
    'http://127.0.0.1/callback',
    'http://localhost/callback',
  ])
    t.equal((await ask('/api/oauth/register', { json: { redirect_uris: [uri] } })).answer.status, 200, uri)
  const registration = { loopbackHosts: ['127.0.0.1', 'localhost'], bodyLimitBytes: 200 }
  const both = await startEndpoints(t, { compat, registration })
  const { answer } = await both.ask('/api/oauth/register', { json: { redirect_uris: ['https://[::1]/'] } })
  t.match(
    answer.json['error_description'],
    'characters: http://127.0.0.1:<port>/<path> or http://localhost:<port>/<path>.',
  )
})

t.test('a token request is limited to the granted resources', async (t) => {
  const calls: unknown[] = []
  let granted: readonly string[] | undefined
  const resources = [ISSUER, `${ISSUER}/mcp`]
  const findGrantedResources: Engine['findGrantedResources'] = async (by, clientId) => {
    calls.push([by, clientId])
    return granted
  }
  const { ask } = await startEndpoints(t, { resources }, { findGrantedResources })
  const token = (form: Readonly<Record<string, string>>) => ask('/api/oauth/token', { form })
  const code = { grant_type: 'authorization_code', code: 'c', client_id: 'client-1', refresh_token: 'r' }
  const resource = `${ISSUER}/mcp`

  t.equal((await token({ ...code, resource })).handled.length, 1, 'the engine rejects an unknown code')
  t.strictSame(calls.splice(0), [[{ code: 'c' }, 'client-1']])
  granted = [resource]
  t.equal((await token({ ...code, resource: `${resource}/` })).handled.length, 1)
  granted = [ISSUER]
  calls.length = 0
  t.strictSame(await token({ ...code, grant_type: 'refresh_token', resource }), {
    answer: rejection(
      400,
      'invalid_target',
      'the person allowed access to another resource; authorize again for this resource',
    ),
    handled: [],
    counted: [['token', 'refresh_token', 'invalid_target']],
    taken: [],
  })
  t.strictSame(calls.splice(0), [[{ refreshToken: 'r' }, 'client-1']])
  t.match((await token({ resource })).counted, [['token', '-', 'invalid_target']])
  await token({ grant_type: 'refresh_token', resource })
  t.strictSame(calls.splice(0), [
    [{ code: '' }, ''],
    [{ refreshToken: '' }, ''],
  ])
  t.equal((await token(code)).handled.length, 1)
  t.strictSame(calls, [], 'a request without resource needs no check')
})

t.test('with one resource, a token request needs no lookup', async (t) => {
  const findGrantedResources = async () => []
  const { ask } = await startEndpoints(t, {}, { findGrantedResources })
  const { handled } = await ask('/api/oauth/token', { form: { code: 'c', resource: ISSUER } })
  t.equal(handled.length, 1)
})
