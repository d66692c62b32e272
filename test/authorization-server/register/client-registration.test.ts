import t from 'tap'
import {
  isLoopbackRedirect,
  parseRegistration,
} from '../../../authorization-server/register/client-registration.ts'
import { aCatalogue } from '../../fixtures/start-pages.ts'

const rules = { loopbackHosts: ['127.0.0.1'], portOptional: false, catalogue: aCatalogue() }
const redirect_uris = ['http://127.0.0.1:4000/callback']

const rejectionOf = (body: Record<string, unknown>) => {
  const parsed = parseRegistration(body, rules)
  return 'rejected' in parsed ? parsed.rejected : undefined
}
const registrationOf = (body: Record<string, unknown>) => {
  const parsed = parseRegistration({ redirect_uris, ...body }, rules)
  return 'registration' in parsed ? parsed.registration : undefined
}

t.test('§3.2.2 parseRegistration() names the invalid redirect URI and the required form', async (t) => {
  t.same(rejectionOf({ redirect_uris: [...redirect_uris, 'http://localhost:3118/callback'] }), {
    error: 'invalid_redirect_uri',
    description:
      'redirect_uris[1] "http://localhost:3118/callback": this server accepts only loopback redirect URIs of at most 1024 characters: http://127.0.0.1:<port>/<path>. Use 127.0.0.1, or ask the operator for a registered integration.',
  })
})

t.test('parseRegistration() shows an invalid value truncated, in ASCII, on one line', async (t) => {
  const description = rejectionOf({ redirect_uris: [`http://é"\\\n${'x'.repeat(5000)}`] })?.description ?? ''
  t.match(description, /^redirect_uris\[0\] "http:\/\/\?''\?x+\.\.\.": /)
  t.match(description, /^[\x20-\x7e]+$/)
  t.ok(description.length < 500)
})

t.test('parseRegistration() rejects missing, too many and non-string redirect URIs', async (t) => {
  const cases = [
    undefined,
    [],
    'http://127.0.0.1:4000/callback',
    {},
    null,
    [7],
    [null],
    [[]],
    [redirect_uris],
  ]
  for (const value of cases)
    t.equal(
      rejectionOf({ redirect_uris: value })?.error,
      'invalid_redirect_uri',
      JSON.stringify(value) ?? 'missing',
    )
  t.equal(rejectionOf({ redirect_uris: Array(11).fill(redirect_uris[0]) })?.error, 'invalid_redirect_uri')
})

t.test('parseRegistration() rejects invalid and unsupported metadata', async (t) => {
  const wrong: readonly Record<string, unknown>[] = [
    { client_name: '' },
    { client_name: 7 },
    { client_name: ['a'] },
    { client_name: 'x'.repeat(201) },
    { application_type: 'toaster' },
    { application_type: null },
    { token_endpoint_auth_method: 'client_secret_basic' },
    { token_endpoint_auth_method: 'private_key_jwt' },
    { grant_types: ['implicit'] },
    { grant_types: 'authorization_code' },
    { response_types: ['token'] },
    { response_types: 'code' },
    { scope: ['courses:read'] },
    { scope: 'courses:read "quoted"' },
    { client_uri: 'javascript:alert(1)' },
    { client_uri: 'not an address' },
  ]
  for (const fields of wrong)
    t.equal(
      rejectionOf({ redirect_uris, ...fields })?.error,
      'invalid_client_metadata',
      JSON.stringify(fields).slice(0, 60),
    )
})

t.test('parseRegistration() returns a public native client with refresh tokens by default', async (t) => {
  t.same(registrationOf({}), {
    application_type: 'native',
    redirect_uris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  })
  t.match(registrationOf({ token_endpoint_auth_method: 'client_secret_post', client_name: 'An app' }), {
    client_name: 'An app',
    token_endpoint_auth_method: 'client_secret_post',
  })
})

t.test('§3.2.1 parseRegistration() replaces unsupported metadata and omits unknown metadata', async (t) => {
  const registration = registrationOf({
    application_type: 'web',
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    scope: 'courses:read somebody:elses offline_access',
    jwks_uri: 'http://169.254.169.254/',
    sector_identifier_uri: 'http://127.0.0.1/',
    logo_uri: 'http://127.0.0.1/',
    client_id: 'gateway',
    client_secret: 'chosen',
    __proto__: { polluted: true },
  })
  t.same(registration, {
    application_type: 'web',
    redirect_uris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    registered_scope: 'courses:read offline_access',
  })
})

const METADATA = 'invalid_client_metadata'
const NAME = 'client_name must be a string of 1 to 200 characters'
const TYPE = 'application_type must be native or web'
const METHOD =
  'token_endpoint_auth_method must be none (public client) or client_secret_post (confidential client)'
const GRANTS = 'grant_types must be a list that contains authorization_code, the only flow of this server'
const RESPONSES = 'response_types must be a list that contains code, the only response type of this server'
const SCOPE = 'scope must be a string of scopes, each separated by one space'
const URI = 'client_uri must be an http or https URL'

t.test('parseRegistration() describes each invalid field', async (t) => {
  const rows: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ client_name: '' }, NAME],
    [{ client_name: 7 }, NAME],
    [{ client_name: null }, NAME],
    [{ client_name: 'x'.repeat(201) }, NAME],
    [{ application_type: 'Web' }, TYPE],
    [{ application_type: null }, TYPE],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, METHOD],
    [{ token_endpoint_auth_method: null }, METHOD],
    [{ grant_types: [] }, GRANTS],
    [{ grant_types: 'authorization_code' }, GRANTS],
    [{ grant_types: null }, GRANTS],
    [{ response_types: ['token'] }, RESPONSES],
    [{ response_types: 'code' }, RESPONSES],
    [{ scope: ['openid'] }, SCOPE],
    [{ scope: '"' }, SCOPE],
    [{ client_uri: 7 }, URI],
    [{ client_uri: 'ftp://a.test/' }, URI],
    [{ client_uri: 'not an address' }, URI],
    [{ client_uri: `https://a.test/${'x'.repeat(1_010)}` }, URI],
    [{ client_name: '', application_type: 'x', scope: 7 }, NAME],
  ]
  for (const [fields, description] of rows)
    t.strictSame(
      rejectionOf({ redirect_uris, ...fields }),
      { error: METADATA, description },
      JSON.stringify(fields).slice(0, 60),
    )
})

t.test('parseRegistration() accepts fields at their limits, and keeps them', async (t) => {
  const uri = `https://a.test/${'x'.repeat(1_009)}`
  t.equal(uri.length, 1_024)
  const redirects = Array.from({ length: 10 }, (_, i) => `http://127.0.0.1:400${i}/callback`)
  const longest = `http://127.0.0.1:4000/${'x'.repeat(1_002)}`
  t.equal(longest.length, 1_024)
  t.strictSame(
    registrationOf({
      redirect_uris: [...redirects.slice(1), longest],
      client_name: 'x'.repeat(200),
      client_uri: uri,
      application_type: 'web',
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['refresh_token', 'authorization_code'],
      response_types: ['token', 'code'],
      scope: 'offline_access openid',
      dpop_bound_access_tokens: true,
    }),
    {
      client_name: 'x'.repeat(200),
      application_type: 'web',
      redirect_uris: [...redirects.slice(1), longest],
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      dpop_bound_access_tokens: true,
      client_uri: uri,
      registered_scope: 'offline_access openid',
    },
  )
  t.match(registrationOf({ client_uri: 'http://a.test' }), { client_uri: 'http://a.test' })
  const { dpop_bound_access_tokens } = registrationOf({ dpop_bound_access_tokens: 'true' }) ?? {}
  t.equal(dpop_bound_access_tokens, undefined)
  t.notOk('registered_scope' in (registrationOf({ scope: 'no:such' }) ?? {}))
})

t.test('parseRegistration() describes each problem of redirect URIs', async (t) => {
  const parse = (value: unknown, more = {}, fields = {}) => {
    const parsed = parseRegistration({ redirect_uris: value, ...fields }, { ...rules, ...more })
    return 'rejected' in parsed ? parsed.rejected.description : undefined
  }
  const two = { loopbackHosts: ['localhost', '[::1]'] }
  t.equal(parse(undefined), 'redirect_uris is required: name at least one http://127.0.0.1:<port>/<path>')
  t.equal(
    parse([], two),
    'redirect_uris must be a list with at least one http://localhost:<port>/<path> or http://[::1]:<port>/<path>',
  )
  t.equal(parse('text'), 'redirect_uris must be a list with at least one http://127.0.0.1:<port>/<path>')
  t.equal(parse(Array(11).fill(redirect_uris[0])), 'redirect_uris must have at most 10 entries')
  t.equal(
    parse([redirect_uris[0], 7]),
    'redirect_uris[1] is not a string: this server accepts only loopback redirect URIs of at most 1024 characters: http://127.0.0.1:<port>/<path>. Use 127.0.0.1, or ask the operator for a registered integration.',
  )
  t.equal(
    parse(['x'], two),
    'redirect_uris[0] "x": this server accepts only loopback redirect URIs of at most 1024 characters: http://localhost:<port>/<path> or http://[::1]:<port>/<path>. Use localhost, or ask the operator for a registered integration.',
  )
  t.match(parse(['x'], { loopbackHosts: [] }), '. Use 127.0.0.1, or ask')
  t.match(
    parse([`http://127.0.0.1:4000/${'x'.repeat(1_003)}`]),
    'this server accepts only loopback redirect URIs',
  )
  t.match(parse(['y'.repeat(200)]), `"${'y'.repeat(200)}": this`)
  t.match(parse(['y'.repeat(201)]), `"${'y'.repeat(200)}...": this`)
  t.match(parse(['a"b\\c"d\u007f\u001fé~ ']), `"a'b'c'd???~ ": this`)
})

t.test('a web client needs a port, also if the port is optional for other clients', async (t) => {
  const parse = (uris: readonly string[], application_type?: string) => {
    const parsed = parseRegistration(
      { redirect_uris: uris, application_type },
      { ...rules, portOptional: true },
    )
    return 'rejected' in parsed ? parsed.rejected : undefined
  }
  const portless = 'http://127.0.0.1/callback'
  t.equal(parse([portless]), undefined)
  t.equal(parse([portless], 'native'), undefined)
  t.equal(parse([...redirect_uris], 'web'), undefined)
  t.strictSame(parse([...redirect_uris, portless], 'web'), {
    error: 'invalid_redirect_uri',
    description:
      'redirect_uris[1] "http://127.0.0.1/callback": a redirect URI of a web client must have a port, because the URI must match exactly. Add the port, or register with application_type native, which accepts any port.',
  })
})

const STRICT = { loopbackHosts: ['127.0.0.1'], portOptional: false }

t.test('isLoopbackRedirect() rejects every URI except http://127.0.0.1:<port>/<path>', async (t) => {
  const rejected = [
    '',
    'http://127.0.0.1/callback',
    'http://127.0.0.1:4000',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:080/callback',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:999999/callback',
    'http://127.0.0.1:4000/callback#fragment',
    'http://127.0.0.1:4000/call back',
    'http://127.0.0.1:4000/a/../callback',
    'http://127.0.0.1:4000/./callback',
    'http://127.0.0.1:4000/%2e%2e/callback',
    'http://127.0.0.1:4000/callback\tx',
    ' http://127.0.0.1:4000/callback',
    'xhttp://127.0.0.1:4000/callback',
    'http://127.0.0.1:4000/<b>',
    'http://127.0.0.1:4000/callback?a=<b>',
    'http://127.0.0.1:4000\\@evil.example/',
    'http://127.0.0.1:4000/\\evil',
    'http://127.0.0.1:4000/callback\n',
    'http://127.0.0.1:4000/ü',
    'HTTP://127.0.0.1:4000/callback',
    'http:/127.0.0.1:4000/callback',
    'https://127.0.0.1:4000/callback',
    'http://127.0.0.1.evil.example:4000/callback',
    'http://127.0.0.1@evil.example:4000/callback',
    'http://user@127.0.0.1:4000/callback',
    'http://user:secret@127.0.0.1:4000/callback',
    'http://127.0.0.1:80@evil.example/callback',
    'http://127.0.0.2:4000/callback',
    'http://127.1:4000/callback',
    'http://0x7f000001:4000/callback',
    'http://2130706433:4000/callback',
    'http://0177.0.0.1:4000/callback',
    'http://127.0.0.1.:4000/callback',
    'http://[::1]:4000/callback',
    'http://[::ffff:127.0.0.1]:4000/callback',
    'http://localhost:4000/callback',
    'http://LOCALHOST:4000/callback',
    'http://0.0.0.0:4000/callback',
    'com.example.app:/callback',
    'javascript:alert(1)',
    'urn:ietf:wg:oauth:2.0:oob',
  ]
  for (const uri of rejected) t.notOk(isLoopbackRedirect(uri, STRICT), JSON.stringify(uri))
})

t.test('isLoopbackRedirect() accepts http://127.0.0.1:<port>/<path>', async (t) => {
  for (const uri of [
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:80/callback',
    'http://127.0.0.1:65535/a/b/c',
    'http://127.0.0.1:4000/',
    'http://127.0.0.1:4000/callback?app=one',
  ])
    t.ok(isLoopbackRedirect(uri, STRICT), uri)
})

t.test('isLoopbackRedirect() accepts other hosts only when they are configured', async (t) => {
  const accepts = (uri: string, ...loopbackHosts: readonly string[]) =>
    isLoopbackRedirect(uri, { loopbackHosts, portOptional: false })
  t.ok(accepts('http://localhost:4000/callback', '127.0.0.1', 'localhost'))
  t.ok(accepts('http://[::1]:4000/callback', '[::1]'))
  t.notOk(accepts('http://127.0.0.1:4000/callback', '[::1]'))
})

t.test(
  'isLoopbackRedirect() accepts a missing port when the port is optional, and still rejects an invalid port',
  async (t) => {
    const accepts = (uri: string) =>
      isLoopbackRedirect(uri, { loopbackHosts: ['127.0.0.1', '[::1]'], portOptional: true })
    for (const uri of ['http://127.0.0.1/callback', 'http://[::1]/', 'http://127.0.0.1:4000/callback'])
      t.ok(accepts(uri), uri)
    for (const uri of [
      'http://127.0.0.1',
      'http://127.0.0.1:/callback',
      'http://127.0.0.1:0/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://127.0.0.1@evil.example/callback',
      'http://localhost/callback',
      'https://127.0.0.1/callback',
    ])
      t.notOk(accepts(uri), uri)
  },
)
