import t from 'tap'
import {
  authenticateIntegration,
  checkAuthorizationHeader,
  checkIntrospectionCaller,
  isGatewayClient,
} from '../../../authorization-server/endpoints/client-authentication.ts'
import {
  ENGINE_ENDPOINTS,
  USERINFO_ENDPOINT,
} from '../../../authorization-server/endpoints/endpoint-table.ts'
import {
  invalidRequest,
  tooManyRequests,
} from '../../../authorization-server/endpoints/oauth-error-response.ts'
import { createAuthorizationLimit } from '../../../authorization-server/endpoints/rate-limits.ts'
import {
  canonicalizeResource,
  findInvalidTarget,
  findLongParameter,
  invalidTarget,
} from '../../../authorization-server/endpoints/request-parameters.ts'
import { hashClientSecret } from '../../../authorization-server/engine/client-secret.ts'

t.test('ENGINE_ENDPOINTS and USERINFO_ENDPOINT are the endpoints of the server', async (t) => {
  const form = { method: 'POST', body: 'form', cors: true } as const
  const document = { method: 'GET', body: 'none', cors: true } as const
  t.strictSame(ENGINE_ENDPOINTS, [
    { name: 'authorization', method: 'GET', path: '/oauth/authorize', body: 'none', cors: false },
    { name: 'resume', method: 'GET', path: '/oauth/authorize/:uid', body: 'none', cors: false },
    { ...form, name: 'token', path: '/api/oauth/token' },
    { name: 'registration', method: 'POST', path: '/api/oauth/register', body: 'json', cors: true },
    { ...form, name: 'revocation', path: '/api/oauth/revoke' },
    { ...form, name: 'introspection', path: '/api/oauth/introspect' },
    { ...form, name: 'pushed_authorization_request', path: '/api/oauth/par' },
    { ...document, name: 'jwks', path: '/api/oauth/jwks' },
    { ...document, name: 'discovery', path: '/.well-known/oauth-authorization-server' },
    { ...document, name: 'discovery', path: '/.well-known/openid-configuration' },
  ])
  t.strictSame(USERINFO_ENDPOINT, {
    ...document,
    name: 'userinfo',
    alsoPost: true,
    path: '/api/oauth/userinfo',
  })
})

t.test('checkAuthorizationHeader() rejects each scheme with its own error', async (t) => {
  const issuer = 'https://login.example'
  t.equal(checkAuthorizationHeader(undefined, issuer), undefined)
  for (const basic of ['Basic', 'basic', 'BASIC abc', 'Basic\tabc', 'Basic '])
    t.strictSame(
      checkAuthorizationHeader(basic, issuer),
      {
        status: 401,
        error: 'invalid_client',
        description:
          'This endpoint does not support HTTP Basic: send client_id and client_secret in the form body (client_secret_post).',
        challenge: 'Basic realm="https://login.example", error="invalid_client"',
      },
      basic,
    )
  for (const other of ['', 'Bearer abc', 'Basics abc', 'x Basic abc'])
    t.strictSame(
      checkAuthorizationHeader(other, issuer),
      {
        status: 400,
        error: 'invalid_request',
        description:
          'This endpoint does not accept an Authorization header: send client_id in the form body.',
      },
      other,
    )
})

t.test('checkIntrospectionCaller() requires a secret', async (t) => {
  t.equal(checkIntrospectionCaller(new URLSearchParams({ client_secret: 'x' })), undefined)
  for (const form of ['', 'client_secret=', 'secret=x'])
    t.strictSame(checkIntrospectionCaller(new URLSearchParams(form)), {
      status: 401,
      error: 'invalid_client',
      description:
        'Introspection needs client authentication: send client_id and client_secret in the form body.',
    })
})

t.test('each rejection has a status, an error code and a description', async (t) => {
  t.strictSame(invalidRequest('why'), { status: 400, error: 'invalid_request', description: 'why' })
  t.strictSame(invalidTarget('why'), { status: 400, error: 'invalid_target', description: 'why' })
  t.strictSame(tooManyRequests('Why.', 7), {
    status: 429,
    error: 'rate_limited',
    description: 'Why. Try again in 7 seconds.',
    headers: { 'retry-after': '7' },
  })
})

t.test('findLongParameter() limits each name and value, and their sum', async (t) => {
  const find = (...pairs: [string, string][]) => findLongParameter(new URLSearchParams(pairs))
  const long = 'The name or value of a parameter is longer than 4096 characters.'
  const sum = 'The parameters together are longer than 8192 characters.'
  t.equal(find(['state', 'x'.repeat(2_048)]), undefined)
  t.equal(find(['state', 'x'.repeat(2_049)]), 'state is longer than 2048 characters.')
  t.equal(find(['scope', 'x'.repeat(4_096)]), undefined)
  t.equal(find(['scope', 'x'.repeat(4_097)]), long)
  t.equal(find(['n'.repeat(4_096), '']), undefined)
  t.equal(find(['n'.repeat(4_097), '']), long)
  const [a, b] = ['x'.repeat(4_095), 'x'.repeat(4_094)]
  t.equal(find(['a', a], ['bb', b]), undefined)
  t.equal(find(['a', a], ['bb', `${b}x`]), sum)
  t.equal(find(['a', a], ['bbb', b]), sum)
})

t.test('canonicalizeResource() ignores the case of scheme and host only', async (t) => {
  const canonical = (resource: string): readonly string[] => {
    const parameters = new URLSearchParams({ resource })
    canonicalizeResource(parameters, ['https://api.example.com', 'https://api.example.com/Mcp'])
    return parameters.getAll('resource')
  }
  for (const [given, expected] of [
    ['HTTPS://API.Example.com', 'https://api.example.com'],
    ['Https://api.example.COM/', 'https://api.example.com'],
    ['https://API.example.com/Mcp', 'https://api.example.com/Mcp'],
    ['https://api.example.com/Mcp/', 'https://api.example.com/Mcp'],
    ['https://api.example.com/MCP', 'https://api.example.com/MCP'],
    ['HTTPS://api.example.com?x', 'HTTPS://api.example.com?x'],
    ['https://api.example.com//', 'https://api.example.com//'],
    [' https://api.example.com', ' https://api.example.com'],
  ] as const)
    t.strictSame(canonical(given), [expected], given)
})

t.test('canonicalizeResource() returns true only if it changed the resource', async (t) => {
  const resources = ['https://api.example.com', 'https://api.example.com/mcp']
  const changes = (query: string) => canonicalizeResource(new URLSearchParams(query), resources)
  t.equal(changes(`resource=${resources[0]}&resource=${resources[1]}`), false)
  t.equal(changes(`resource=${resources[0]}&resource=${resources[0]}`), true)
  t.equal(changes(`resource=${resources[0]}&resource=${resources[1]}/`), true)
})

t.test('findInvalidTarget() requires at most one known resource', async (t) => {
  const reject = (query: string, resources: readonly string[]) =>
    findInvalidTarget(new URLSearchParams(query), resources)
  t.equal(reject('', ['a:x']), undefined)
  t.equal(reject('resource=a:x', ['a:x']), undefined)
  t.equal(reject('resource=a:y', ['a:x', 'a:y']), undefined)
  t.strictSame(
    reject('resource=a:y', ['a:x']),
    invalidTarget('resource must be a:x, the only API this server issues tokens for'),
  )
  t.strictSame(
    reject('resource=a:z', ['a:x', 'a:y']),
    invalidTarget(
      'this server issues no tokens for that resource; protected_resources in its metadata lists all resources',
    ),
  )
  t.strictSame(
    reject('resource=a:x&resource=a:y', ['a:x', 'a:y']),
    invalidTarget('name one resource: a token is valid for one API only'),
  )
})

t.test('authenticateIntegration() requires the secret of the integration', async (t) => {
  const hashes = new Map([
    ['mailer', ['new-secret-of-the-mailer', 'secret-of-the-mailer'].map(hashClientSecret)],
    ['gateway', [hashClientSecret('secret-of-the-mailer')]],
  ])
  const authenticate = authenticateIntegration([{ clientId: 'mailer' }, { clientId: 'public' }], (id) =>
    hashes.get(id),
  )
  const ask = (form: Readonly<Record<string, string>>) => authenticate(new URLSearchParams(form))
  t.equal(ask({ client_id: 'mailer', client_secret: 'secret-of-the-mailer' }), 'mailer')
  t.equal(ask({ client_id: 'mailer', client_secret: 'new-secret-of-the-mailer' }), 'mailer')
  for (const form of [
    {},
    { client_id: 'mailer' },
    { client_id: 'mailer', client_secret: '' },
    { client_id: 'mailer', client_secret: 'other' },
    { client_id: 'public' },
    { client_id: 'public', client_secret: 'secret-of-the-mailer' },
    { client_id: 'other', client_secret: 'secret-of-the-mailer' },
    { client_id: 'gateway', client_secret: 'secret-of-the-mailer' },
    { client_secret: 'secret-of-the-mailer' },
  ] as Readonly<Record<string, string>>[])
    t.equal(ask(form), undefined, JSON.stringify(form))
})

t.test('isGatewayClient() reads HTTP Basic strictly, with the scheme in any case', async (t) => {
  const isGateway = isGatewayClient({ clientId: 'gateway', clientSecrets: () => ['sécret:3', 'sécret:1'] })
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const valid = encode('gateway:sécret:1')
  for (const header of [`Basic ${valid}`, `basic ${valid}`, `BASIC  ${valid}`])
    t.equal(isGateway(header), true, header)
  for (const header of [
    undefined,
    '',
    'Basic',
    `Basic${valid}`,
    `Basic\t${valid}`,
    `Basic ${valid} `,
    `x Basic ${valid}`,
    `Bearer ${valid}`,
    `Basic ${encode('gateway:sécret:2')}`,
    `Basic ${encode('gateway')}`,
    `Basic ${encode(':sécret:1')}`,
  ])
    t.equal(isGateway(header), false, header ?? 'none')
  const empty = isGatewayClient({ clientId: '', clientSecrets: () => [''] })
  t.equal(empty(undefined), false, 'an absent header does not match empty credentials')
})

t.test('createAuthorizationLimit() counts a pushed request and its first use as one request', async (t) => {
  let nowMs = 0
  const { take, pushed } = createAuthorizationLimit({ perAddress: 2, windowMs: 60_000 }, () => nowMs)
  t.equal(take('192.0.2.1'), undefined)
  pushed('urn:a')
  t.equal(take('192.0.2.1', 'urn:a'), undefined, 'the first use does not count')
  t.equal(take('192.0.2.1', 'urn:a'), undefined, 'the second use counts')
  t.strictSame(take('192.0.2.1', 'urn:a'), { retryAfterSeconds: 60 })
  t.strictSame(take('192.0.2.1', 'urn:unknown'), { retryAfterSeconds: 60 })
  t.strictSame(take('192.0.2.1'), { retryAfterSeconds: 60 })
  t.equal(take('192.0.2.2'), undefined)
  nowMs = 60_000
  t.equal(take('192.0.2.1'), undefined)
})

t.test('createAuthorizationLimit() keeps 10,000 pushed requests', async (t) => {
  for (const [others, isKept] of [
    [9_999, true],
    [10_000, false],
  ] as const) {
    const { take, pushed } = createAuthorizationLimit({ perAddress: 0, windowMs: 60_000 }, () => 0)
    pushed('urn:first')
    for (let i = 0; i < others; i++) pushed(`urn:${i}`)
    t.equal(take('192.0.2.1', 'urn:first') === undefined, isKept, `${others} others`)
  }
})
