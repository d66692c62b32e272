import t, { type Test } from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { parseChallenge } from '../fixtures/parse-challenge.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Answer, type Parameters as Fields, type Message, send } from '../fixtures/send.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import { sendExactly } from '../fixtures/send-exactly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// For each bad input, the status is 4xx and the body is {error, error_description}. The response is never a 500,
// contains no stack trace, and contains no HTML below /api/.
const FORM = 'application/x-www-form-urlencoded'
const STACK = /\bat (?:\S+ \()?(?:file:|node:|\/)\S+:\d+:\d+/

const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await registerClient(scopegate)
const confidential = await registerClient(scopegate, { token_endpoint_auth_method: 'client_secret_post' })
const tokens = await client.obtainTokens({ browser, scope: 'courses:read' })

/** The expected result is one or more statuses, and the error code. */
type Row = readonly [name: string, expected: string, message: Message]

t.test('the token endpoint rejects bad input with the expected error', async (t) => {
  const code = {
    grant_type: 'authorization_code',
    redirect_uri: client.redirectUri,
    client_id: client.clientId,
  }
  const used = { ...code, code: 'no-such-code', code_verifier: makePkce().verifier }
  const renew = { grant_type: 'refresh_token', client_id: client.clientId, refresh_token: 'no-such-token' }
  const form = (parameters: Fields): Message => ({ form: parameters })
  const rows: readonly Row[] = [
    ['no body', '400 invalid_request', { method: 'POST' }],
    ['a JSON content type', '400 invalid_request', { json: used }],
    ['a form with a text/plain content type', '400 invalid_request', { ...form(used), headers: plain() }],
    ['a form in an unknown charset', '4xx', { ...form(used), headers: type(`${FORM};charset=klingon`) }],
    ['no grant_type', '400 invalid_request', form({ ...used, grant_type: undefined })],
    ['an empty grant_type', '400 invalid_request', form({ ...used, grant_type: '' })],
    ['a password grant', '400 unsupported_grant_type', form({ ...used, grant_type: 'password' })],
    ['client credentials', '400 unsupported_grant_type', form({ ...used, grant_type: 'client_credentials' })],
    [
      'grant_type twice',
      '400 invalid_request',
      form({ ...used, grant_type: ['refresh_token', 'refresh_token'] }),
    ],
    ['code twice', '400 invalid_request', form({ ...used, code: ['one', 'two'] })],
    [
      'client_id twice',
      '400 invalid_request',
      form({ ...used, client_id: [client.clientId, client.clientId] }),
    ],
    ['no code', '400 invalid_request', form({ ...used, code: undefined })],
    ['an unknown code', '400 invalid_grant', form(used)],
    ['a code with invalid characters', '400 invalid_grant', form({ ...used, code: '\u0000é%00<svg>' })],
    ['no redirect_uri', '400 invalid_request', form({ ...used, redirect_uri: undefined })],
    ['no client_id', '400 invalid_request', form({ ...used, client_id: undefined })],
    ['an unknown client', '401 invalid_client', form({ ...used, client_id: 'nobody' })],
    ['a secret for a public client', '4xx', form({ ...renew, client_secret: 'guessed' })],
    ['a missing secret', '401 invalid_client', form({ ...renew, client_id: confidential.clientId })],
    [
      'a wrong secret',
      '401 invalid_client',
      form({ ...renew, client_id: confidential.clientId, client_secret: 'wrong' }),
    ],
    [
      'the secret by HTTP Basic, which is not a supported method',
      '401 invalid_client',
      {
        form: { ...renew, client_id: undefined },
        headers: { authorization: `Basic ${btoa(`${confidential.clientId}:${confidential.clientSecret}`)}` },
      },
    ],
    ['no refresh_token', '400 invalid_request', form({ ...renew, refresh_token: undefined })],
    ['an unknown refresh token', '400 invalid_grant', form(renew)],
    ['refresh_token twice', '400 invalid_request', form({ ...renew, refresh_token: ['one', 'two'] })],
    [
      'a refresh token of another client',
      '400 invalid_grant',
      form({
        ...renew,
        client_id: confidential.clientId,
        client_secret: confidential.clientSecret,
        refresh_token: tokens.refreshToken,
      }),
    ],
    [
      'a wider scope on refresh',
      '400 invalid_scope',
      form({ ...renew, refresh_token: tokens.refreshToken, scope: 'courses:read courses:write' }),
    ],
    [
      'a resource that is not a configured API',
      '400 invalid_target',
      form({ ...renew, refresh_token: tokens.refreshToken, resource: 'https://elsewhere.example' }),
    ],
    [
      'a resource that is not a URL',
      '400 invalid_target',
      form({ ...renew, refresh_token: tokens.refreshToken, resource: 'not an address' }),
    ],
    ['an oversized body', '413', form({ ...renew, refresh_token: 'x'.repeat(200_000) })],
    ['broken percent-encoding', '4xx', { body: 'grant_type=%zz&client_id=%', headers: type(FORM) }],
    ['a query instead of a body', '400 invalid_request', { method: 'POST', headers: type(FORM) }],
    ['GET', '405 method_not_allowed', { method: 'GET' }],
    ['PUT', '405 method_not_allowed', { ...form(renew), method: 'PUT' }],
  ]
  await expectRows(t, ENDPOINTS.token, rows)
  t.equal(
    (await client.refresh(tokens.refreshToken)).status,
    200,
    'no rejected request consumed the refresh token',
  )
})

t.test('the registration endpoint rejects bad input with the expected error', async (t) => {
  const metadata = {
    client_name: 'Bad input',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1:49152/callback'],
    token_endpoint_auth_method: 'none',
  }
  const json = (overrides: object): Message => ({ json: { ...metadata, ...overrides } })
  const redirect = (uri: unknown): Message => json({ redirect_uris: [uri] })
  const rows: readonly Row[] = [
    ['no body', '400 invalid_request', { method: 'POST', headers: type('application/json') }],
    ['a form', '4xx', { form: { client_name: 'x' } }],
    ['JSON with a text/plain content type', '4xx', { body: JSON.stringify(metadata), headers: plain() }],
    ['a content type with a tab and trailing text', '4xx', typed('application/json\ta', metadata)],
    ['broken JSON', '400 invalid_request', { body: '{"client_name": ', headers: type('application/json') }],
    ['a JSON list', '4xx', { json: [metadata] }],
    ['JSON null', '4xx', { json: null }],
    ['a JSON string', '4xx', { json: 'client' }],
    ['no redirect_uris', '400 invalid_redirect_uri', json({ redirect_uris: undefined })],
    ['no redirect URI in the list', '400 invalid_redirect_uri', json({ redirect_uris: [] })],
    [
      'redirect_uris as a string',
      '400 invalid_redirect_uri',
      json({ redirect_uris: metadata.redirect_uris[0] }),
    ],
    ['a number as redirect URI', '400 invalid_redirect_uri', redirect(7)],
    ['an HTTPS callback', '400 invalid_redirect_uri', redirect('https://app.example/callback')],
    [
      'HTTPS on the loopback address',
      '400 invalid_redirect_uri',
      redirect('https://127.0.0.1:4000/callback'),
    ],
    ['localhost', '400 invalid_redirect_uri', redirect('http://localhost:4000/callback')],
    ['the IPv6 loopback', '400 invalid_redirect_uri', redirect('http://[::1]:4000/callback')],
    ['another address', '400 invalid_redirect_uri', redirect('http://127.0.0.2:4000/callback')],
    [
      'a host with the loopback address as prefix',
      '400 invalid_redirect_uri',
      redirect('http://127.0.0.1.evil.example/callback'),
    ],
    [
      'user information before the host',
      '400 invalid_redirect_uri',
      redirect('http://127.0.0.1:80@evil.example/callback'),
    ],
    ['a fragment', '400 invalid_redirect_uri', redirect('http://127.0.0.1:4000/callback#here')],
    ['a custom scheme', '400 invalid_redirect_uri', redirect('com.example.app:/callback')],
    ['a javascript: URL', '400 invalid_redirect_uri', redirect('javascript:alert(1)')],
    ['a decimal IP address', '400 invalid_redirect_uri', redirect('http://2130706433:4000/callback')],
    [
      'one valid redirect URI and one invalid',
      '400 invalid_redirect_uri',
      json({ redirect_uris: [metadata.redirect_uris[0], 'https://app.example/callback'] }),
    ],
    ['a name that is a list', '400 invalid_client_metadata', json({ client_name: ['a', 'b'] })],
    ['an unknown application_type', '400 invalid_client_metadata', json({ application_type: 'toaster' })],
    [
      'client_secret_basic',
      '400 invalid_client_metadata',
      json({ token_endpoint_auth_method: 'client_secret_basic' }),
    ],
    [
      'private_key_jwt',
      '400 invalid_client_metadata',
      json({ token_endpoint_auth_method: 'private_key_jwt' }),
    ],
    ['the implicit grant', '400 invalid_client_metadata', json({ grant_types: ['implicit'] })],
    ['response_type token', '400 invalid_client_metadata', json({ response_types: ['token'] })],
    ['an oversized body', '413', json({ client_name: 'x'.repeat(200_000) })],
    ['GET', '405 method_not_allowed', { method: 'GET' }],
    ['DELETE', '405 method_not_allowed', { method: 'DELETE' }],
  ]
  await expectRows(t, ENDPOINTS.registration, rows)
})

t.test(
  'the revocation, introspection, userinfo and other endpoints reject bad input with the expected error',
  async (t) => {
    const form = (parameters: Fields): Message => ({ form: parameters })
    const { clientId } = client
    const rows: readonly (readonly [path: string, ...Row])[] = [
      [ENDPOINTS.revocation, 'no token', '400 invalid_request', form({ client_id: clientId })],
      [ENDPOINTS.revocation, 'no client', '400 invalid_request', form({ token: tokens.accessToken })],
      [
        ENDPOINTS.revocation,
        'an unknown client',
        '401 invalid_client',
        form({ token: 'x', client_id: 'nobody' }),
      ],
      [
        ENDPOINTS.revocation,
        'token twice',
        '400 invalid_request',
        form({ token: ['a', 'b'], client_id: clientId }),
      ],
      [ENDPOINTS.revocation, 'JSON', '400 invalid_request', { json: { token: 'x', client_id: clientId } }],
      [ENDPOINTS.revocation, 'GET', '405 method_not_allowed', {}],
      [ENDPOINTS.introspection, 'no client credentials', '4xx', form({ token: tokens.accessToken })],
      [
        ENDPOINTS.introspection,
        'a wrong secret',
        '401 invalid_client',
        form({ token: tokens.accessToken, client_id: 'gateway', client_secret: 'wrong' }),
      ],
      [
        ENDPOINTS.introspection,
        'a client that registered itself without a secret',
        '4xx',
        form({ token: tokens.accessToken, client_id: clientId }),
      ],
      [ENDPOINTS.introspection, 'GET', '405 method_not_allowed', {}],
      [ENDPOINTS.userinfo, 'a bad token', '401 invalid_token', { token: 'not-a-token' }],
      [ENDPOINTS.userinfo, 'no token', '401', {}],
      [ENDPOINTS.userinfo, 'a token without openid', '403 insufficient_scope', { token: tokens.accessToken }],
      [ENDPOINTS.userinfo, 'another scheme', '401', { headers: { authorization: 'Basic YTpi' } }],
      [ENDPOINTS.userinfo, 'DELETE', '405 method_not_allowed', { method: 'DELETE' }],
      [ENDPOINTS.pushedAuthorizationRequest, 'no client', '400 invalid_request', form({ scope: 'openid' })],
      [ENDPOINTS.pushedAuthorizationRequest, 'GET', '405 method_not_allowed', {}],
      [ENDPOINTS.jwks, 'POST', '405 method_not_allowed', { method: 'POST' }],
      [ENDPOINTS.authorizationServerMetadata, 'POST', '405 method_not_allowed', { method: 'POST' }],
      [ENDPOINTS.openidConfiguration, 'DELETE', '405 method_not_allowed', { method: 'DELETE' }],
      [ENDPOINTS.protectedResourceMetadata, 'POST', '405 method_not_allowed', { method: 'POST' }],
      ['/openapi.json', 'POST', '405 method_not_allowed', { method: 'POST' }],
      ['/auth.md', 'POST', '405 method_not_allowed', { method: 'POST' }],
      ['/api/oauth/nothing', 'an unknown endpoint', '404 not_found', {}],
      ['/api/oauth', 'the parent path', '404 not_found', {}],
      ['/api/oauth/TOKEN', 'upper case', '404 not_found', { method: 'POST' }],
      ['/api/oauth/token/', 'a trailing slash', '404 not_found', { method: 'POST' }],
      ['/.well-known/oauth-protected-resource/api/courses', 'another resource', '404 not_found', {}],
      ['/.well-known/nothing', 'an unknown document', '404 not_found', {}],
      ['/internal/revocations', 'the revocation stream', '404 not_found', {}],
    ]
    for (const [path, ...row] of rows) await expectRows(t, path, [row])

    t.test('introspection and revocation ignore the tokens of another client', async (t) => {
      const { clientId: client_id, clientSecret: client_secret } = confidential
      for (const token of [tokens.accessToken, 'no-such-token']) {
        const answer = await send(`${baseUrl}${ENDPOINTS.introspection}`, {
          form: { token, client_id, client_secret },
        })
        t.same({ status: answer.status, json: answer.json }, { status: 200, json: { active: false } })
        t.equal((await confidential.revoke(token)).status, 200)
      }
      const used = await send(`${baseUrl}/api/courses`, { token: tokens.accessToken })
      t.equal(used.status, 200, 'the other client did not revoke the token')
    })
  },
)

t.test('the authorization endpoint reports errors on a page or to the client', async (t) => {
  const { challenge } = makePkce()
  const ask = (overrides: Fields, accept: string): Promise<Answer> =>
    send(client.authorizeUrl('courses:read', challenge, overrides), { headers: { accept } })

  const shown: Readonly<Record<string, Fields>> = {
    'an unknown client': { client_id: 'nobody' },
    'no client': { client_id: undefined },
    'client_id twice': { client_id: [client.clientId, client.clientId] },
    'another redirect_uri': { redirect_uri: 'http://127.0.0.1:49152/other' },
    'a redirect_uri at another host': { redirect_uri: 'https://evil.example/callback' },
    'no redirect_uri': { redirect_uri: undefined },
    'redirect_uri twice': { redirect_uri: [client.redirectUri, 'https://evil.example/'] },
  }
  for (const [name, overrides] of Object.entries(shown))
    t.test(`${name}: shows an error page and does not redirect`, async (t) => {
      const page = await ask(overrides, 'text/html')
      t.equal(page.status, 400)
      t.notOk(page.headers.has('location'))
      t.match(page.headers.get('content-type'), /^text\/html/)
      t.notMatch(page.text, STACK)
      expectError(t, await ask(overrides, 'application/json'), '400')
    })

  const redirected: Readonly<Record<string, readonly [error: string, overrides: Fields]>> = {
    'no response_type': ['invalid_request', { response_type: undefined }],
    'response_type token': ['unsupported_response_type', { response_type: 'token' }],
    'no scope': ['invalid_request', { scope: undefined }],
    'an empty scope': ['invalid_request', { scope: '' }],
    'an unknown scope': ['invalid_scope', { scope: 'courses:read courses:juggle' }],
    'scope twice': ['invalid_request', { scope: ['courses:read', 'courses:write'] }],
    'no state': ['invalid_request', { state: undefined }],
    'no code_challenge': ['invalid_request', { code_challenge: undefined }],
    'the plain challenge method': ['invalid_request', { code_challenge_method: 'plain' }],
    'no challenge method, which means plain': ['invalid_request', { code_challenge_method: undefined }],
    'a challenge that is too short': ['invalid_request', { code_challenge: 'short' }],
    'a resource that is not a configured API': ['invalid_target', { resource: 'https://elsewhere.example' }],
    'prompt none without a session': ['login_required', { prompt: 'none', scope: 'openid courses:read' }],
    'a request object': ['request_not_supported', { request: 'e30.e30.' }],
  }
  for (const [name, [error, overrides]] of Object.entries(redirected))
    t.test(`${name}: redirects to the client with ${error}, iss and state`, async (t) => {
      const answer = await ask(overrides, 'text/html')
      t.match(answer.status, /^30[23]$/, answer.text.slice(0, 300))
      const location = new URL(answer.headers.get('location') ?? 'about:blank')
      t.equal(`${location.origin}${location.pathname}`, client.redirectUri)
      // RFC 6749 section 4.2.2.1: the response to a request for a token is in the fragment.
      const said =
        location.search === '' ? new URLSearchParams(location.hash.slice(1)) : location.searchParams
      t.equal(said.get('error'), error)
      t.equal(said.get('iss'), baseUrl)
      t.equal(said.get('state'), 'state' in overrides ? null : 'a-state')
      t.notOk(said.has('code'))
    })

  t.test('responds with 405 to other methods, with an error page to an unknown interaction', async (t) => {
    expectError(
      t,
      await send(`${baseUrl}${ENDPOINTS.authorization}`, { method: 'DELETE' }),
      '405 method_not_allowed',
    )
    const page = await send(`${baseUrl}${ENDPOINTS.interaction}/no-such-interaction`, {
      headers: { accept: 'text/html' },
    })
    t.ok(page.status >= 400 && page.status < 500, `${page.status}`)
    t.match(page.headers.get('content-type'), /^text\/html/)
    t.notMatch(page.text, STACK)
    for (const step of ['sign-in', 'consent', 'cancel']) {
      const posted = await send(`${baseUrl}${ENDPOINTS.interaction}/no-such-interaction/${step}`, {
        form: { a: 'b' },
      })
      t.ok(posted.status >= 400 && posted.status < 500, `${step}: ${posted.status}`)
      t.notOk(posted.headers.has('location'), step)
    }
  })
})

t.test('API routes reject bad requests with the expected error', async (t) => {
  t.test('malformed tokens get 401 invalid_token', async (t) => {
    const broken = ['not-a-token', 'x', '.', '..', 'a.b.c', `${tokens.accessToken}x`, 'x'.repeat(9_000)]
    for (const token of [...broken, `${tokens.accessToken}=`, tokens.accessToken.slice(1)])
      expectChallenge(t, await send(`${baseUrl}/api/courses`, { token }), token.slice(0, 12))
    for (const authorization of [
      'Bearer',
      'Bearer ',
      'Basic YTpi',
      'Bearer a b',
      'Bearer "x"',
      'Digest x',
      ',',
    ])
      expectAuthorization(
        t,
        await raw('/api/courses', { headers: ['authorization', authorization] }),
        authorization,
      )
  })

  t.test('two credentials, or a token in the URL, get 400 invalid_request', async (t) => {
    const bearer = `Bearer ${tokens.accessToken}`
    const twice = await raw('/api/courses', {
      headers: ['authorization', bearer, 'authorization', 'Bearer x'],
    })
    expectError(t, twice, '400 invalid_request')
    const inQuery = await raw(`/api/courses?access_token=${tokens.accessToken}`)
    expectError(t, inQuery, '400 invalid_request')
  })

  t.test('unknown routes get 404, unknown methods 405 with Allow', async (t) => {
    for (const path of [
      '/',
      '/api',
      '/api/',
      '/api/nothing',
      '/api/courses/',
      '/api/COURSES',
      '/api/courses/1/2/3',
    ]) {
      const answer = await raw(path, { headers: ['accept', 'application/json'] })
      if (path !== '/') expectError(t, answer, '404 not_found', path)
      else t.ok(answer.status < 500)
    }
    for (const method of ['DELETE', 'PATCH', 'TRACE', 'PROPFIND']) {
      const answer = await raw('/api/courses', { method })
      expectError(t, answer, '405 method_not_allowed', method)
      t.match(answer.headers.get('allow'), /\bGET\b/)
    }
  })

  t.test('ambiguous paths get 400', async (t) => {
    const targets = [
      '/api/courses/../orders',
      '/api/./courses',
      '/api/courses/%2e%2e/orders',
      '/api%2fcourses',
      '/api/courses%5c..',
      '/api/courses/%00',
      '/api/courses/%zz',
      '/api/courses/%c0%ae',
      '//api/courses',
      '/api//courses',
      '/api\\courses',
      '/api/courses#fragment',
    ]
    for (const target of targets) expectError(t, await raw(target), '400 invalid_request', target)
  })

  t.test('oversized bodies, URLs and headers get 413, 414 and 431', async (t) => {
    const bearer = ['authorization', `Bearer ${tokens.accessToken}`]
    expectError(t, await raw(`/api/courses?q=${'x'.repeat(9_000)}`), '414')
    expectError(t, await raw('/api/courses', { headers: ['x-large', 'x'.repeat(20_000)] }), '431')
    const { accessToken } = await client.obtainTokens({ browser, scope: 'courses:write' })
    const large = Buffer.alloc(11 * 1024 * 1024, ' ')
    const answer = await raw('/api/courses', {
      method: 'POST',
      headers: ['authorization', `Bearer ${accessToken}`, 'content-type', 'application/json'],
      body: large,
    }).catch((error: NodeJS.ErrnoException) => error.code)
    // The gateway responds before it has read the complete body. A client that continues to write can see a closed
    // connection.
    if (typeof answer === 'object') expectError(t, answer, '413 payload_too_large')
    else t.match(answer, /^(EPIPE|ECONNRESET)$/)
    const announced = await sendBytes(
      baseUrl,
      `POST /api/courses HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${accessToken}\r\nContent-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n{`,
      { hangsUp: true },
    )
    t.same(
      announced.statuses,
      [413],
      'a client that sends only a part of the body always receives the response',
    )
    t.match(announced.text, /"error":"payload_too_large"/)
    t.equal((await raw('/api/courses', { headers: bearer })).status, 200, 'the gateway still serves requests')
  })

  t.test('the API rejects a malformed body in the same error format', async (t) => {
    const { accessToken: token } = await client.obtainTokens({ browser, scope: 'courses:write' })
    const url = `${baseUrl}/api/courses`
    const json = type('application/json')
    expectError(t, await send(url, { token, body: '{"title":', headers: json }), '400 invalid_request')
    expectError(t, await send(url, { token, json: {} }), '400 invalid_request')
    expectError(t, await send(url, { token, form: { title: 'x' } }), '415')
    expectError(t, await send(`${url}/crs_9999`, { token, method: 'DELETE' }), '404')
  })
})

async function expectRows(t: Test, path: string, rows: readonly Row[]): Promise<void> {
  for (const [name, expected, message] of rows)
    await t.test(`${path}: ${name} gets ${expected}`, async (t) => {
      expectError(t, await send(`${baseUrl}${path}`, message), expected)
    })
}

/** `expected` is a status, a status with an error code, or `4xx`. */
function expectError(t: Test, answer: Answer, expected: string, about = ''): void {
  const [status = '', error] = expected.split(' ')
  t.match(
    String(answer.status),
    new RegExp(`^${status.replace('xx', '\\d\\d')}$`),
    `${about} ${answer.text.slice(0, 300)}`,
  )
  t.match(answer.headers.get('content-type'), /^application\/json/, `${about} is JSON`)
  t.match(answer.json, { error: error ?? /^[a-z_]+$/, error_description: /\S/ }, about)
  t.notMatch(answer.text, STACK, about)
}

function expectChallenge(t: Test, answer: Answer, about: string): void {
  expectError(t, answer, '401 invalid_token', about)
  t.match(parseChallenge(answer.headers.get('www-authenticate')).parameters, { error: 'invalid_token' })
}

/** RFC 6750 section 3.1: 401 for an invalid credential, 400 for a malformed header. */
function expectAuthorization(t: Test, answer: Answer, about: string): void {
  expectError(t, answer, answer.status === 400 ? '400 invalid_request' : '401 invalid_token', about)
  t.ok(answer.headers.has('www-authenticate'), about)
}

function raw(target: string, options: Parameters<typeof sendExactly>[2] = {}): Promise<Answer> {
  return sendExactly(baseUrl, target, options)
}

function typed(contentType: string, body: unknown): Message {
  return { body: JSON.stringify(body), headers: type(contentType) }
}

function type(contentType: string): Record<string, string> {
  return { 'content-type': contentType }
}

function plain(): Record<string, string> {
  return type('text/plain')
}
