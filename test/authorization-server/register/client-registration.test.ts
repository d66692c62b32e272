import t from 'tap'
import { parseRegistration } from '../../../authorization-server/register/client-registration.ts'
import { aCatalogue } from '../../fixtures/start-pages.ts'

const rules = { loopbackHosts: ['127.0.0.1'], portOptional: false, catalogue: aCatalogue() }
const redirect_uris = ['http://127.0.0.1:4000/callback']

const refusalOf = (body: Record<string, unknown>) => {
  const parsed = parseRegistration(body, rules)
  return 'refused' in parsed ? parsed.refused : undefined
}
const registrationOf = (body: Record<string, unknown>) => {
  const parsed = parseRegistration({ redirect_uris, ...body }, rules)
  return 'registration' in parsed ? parsed.registration : undefined
}

t.test('§3.2.2 parseRegistration() names the invalid redirect URI and the required form', async (t) => {
  t.same(refusalOf({ redirect_uris: [...redirect_uris, 'http://localhost:3118/callback'] }), {
    error: 'invalid_redirect_uri',
    description:
      'redirect_uris[1] "http://localhost:3118/callback": this server accepts loopback redirects as http://127.0.0.1:<port>/<path> only. Use 127.0.0.1, or ask the operator for a registered integration.',
  })
})

t.test('parseRegistration() shows an invalid value truncated, in ASCII, on one line', async (t) => {
  const description = refusalOf({ redirect_uris: [`http://é"\\\n${'x'.repeat(5000)}`] })?.description ?? ''
  t.match(description, /^redirect_uris\[0\] "http:\/\/\?''\?x+\.\.\.": /)
  t.match(description, /^[\x20-\x7e]+$/)
  t.ok(description.length < 500)
})

t.test(
  'parseRegistration() rejects missing redirect URIs, too many, and values that are not strings',
  async (t) => {
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
        refusalOf({ redirect_uris: value })?.error,
        'invalid_redirect_uri',
        JSON.stringify(value) ?? 'missing',
      )
    t.equal(refusalOf({ redirect_uris: Array(11).fill(redirect_uris[0]) })?.error, 'invalid_redirect_uri')
  },
)

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
      refusalOf({ redirect_uris, ...fields })?.error,
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
