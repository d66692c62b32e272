import t, { type Test } from 'tap'
import { type JwtIssuer, type JwtIssuerOptions, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { type FollowedGuide, followGuide } from '../fixtures/follow-guide.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { documentedBlock, documentedBlocks, type FencedBlock } from '../fixtures/repository-texts.ts'
import { type Answer, send } from '../fixtures/send.ts'

// These tests follow the guides for issuers. Each local issuer imitates the documented behavior of a product.
const API = 'https://api.example.com'
const SECRET = 'client-secret-of-the-guide'

type Product = {
  readonly blocks: readonly FencedBlock[]
  /** The URL of the product in the guide, before the path of the issuer. */
  readonly host: string
  readonly issuer: JwtIssuerOptions
  /** The texts of the blocks with optional settings. */
  readonly others?: readonly string[]
}

/** Follows a guide with a local issuer and two services. */
async function follow(
  t: Test,
  { blocks, host, issuer: settings, others = [] }: Product,
): Promise<
  FollowedGuide & {
    issuer: JwtIssuer
    ask(token: string, path?: string): Promise<Answer>
  }
> {
  const issuer = await startJwtIssuer({ algorithms: ['RS256'], metadata: 'openid', ...settings })
  const [orders, invoices] = [await startRecordingUpstream(), await startRecordingUpstream()]
  t.teardown(() => Promise.all([issuer.close(), orders.close(), invoices.close()]))
  const guide = await followGuide(t, blocks, {
    others,
    replace: {
      [host]: new URL(issuer.issuer).origin,
      'http://127.0.0.1:5001': orders.url,
      'http://127.0.0.1:5002': invoices.url,
      '"$SECRET"': SECRET,
    },
  })
  t.same(
    [orders.requests.length, invoices.requests.length],
    [1, 0],
    'only the allowed request reaches a service',
  )
  t.same(orders.seen('authorization'), [], 'the service does not get the token')
  return {
    ...guide,
    issuer,
    ask: (token, path = '/orders/7') => send(`${guide.url}${path}`, { token }),
  }
}

/** Sends a token of each kind to the order service. The gateway must accept or reject the token. */
async function expectAll(
  t: Test,
  ask: (token: string) => Promise<Answer>,
  cases: readonly (readonly [what: string, token: string, description: string])[],
): Promise<void> {
  for (const [what, token, description] of cases) {
    const { status, json } = await ask(token)
    t.equal(status, description === '' ? 200 : 401, what)
    if (description !== '') t.match(json['error_description'], description, what)
  }
}

const ANOTHER_RESOURCE = 'The access token is meant for another resource.'
const FOREIGN = 'The access token comes from an issuer that this API does not trust.'
const NO_ACCESS_TOKEN = 'This JWT is not an access token.'

/** The claims of an access token of Keycloak for a service account. */
const KEYCLOAK = {
  jti: 'trrtcc:5b4f6a0e-8a6e-4f0e-9c3a-6d9a5d1f0a11',
  aud: [API, 'account'],
  sub: '0b7c4d1c-0d5f-4a7e-8a44-9f0f6f8c2d10',
  client_id: undefined,
  typ: 'Bearer',
  azp: 'orders-job',
  acr: '1',
  'allowed-origins': ['/*'],
  realm_access: { roles: ['offline_access', 'uma_authorization', 'invoices:read'] },
  resource_access: { account: { roles: ['manage-account', 'view-profile'] } },
  scope: 'email profile orders:read',
  email_verified: false,
  preferred_username: 'service-account-orders-job',
}

t.test('use-keycloak.md protects two services with tokens of Keycloak', async (t) => {
  const { issuer, ask } = await follow(t, {
    blocks: documentedBlocks('docs/use-keycloak.md'),
    host: 'https://keycloak.example.com',
    issuer: {
      path: '/realms/main',
      token: {
        path: '/realms/main/protocol/openid-connect/token',
        issue: (form) => ({
          claims: { ...KEYCLOAK, scope: `email profile ${form.get('scope')}` },
          header: { typ: 'JWT' },
        }),
      },
    },
  })
  const sign = (claims: object) => issuer.sign({ ...KEYCLOAK, ...claims }, { typ: 'JWT' })
  await expectAll(t, ask, [
    ['an access token', sign({}), ''],
    ['a token without the audience mapper', sign({ aud: 'account' }), ANOTHER_RESOURCE],
    ['a token without an audience', sign({ aud: undefined }), ANOTHER_RESOURCE],
    ['an ID token', sign({ typ: 'ID' }), NO_ACCESS_TOKEN],
    ['a refresh token', sign({ typ: 'Refresh' }), NO_ACCESS_TOKEN],
  ])
  t.equal((await ask(sign({}), '/invoices/7')).status, 403, 'a role is not a scope')
})

const TENANT = '11111111-aaaa-4000-8000-000000000001'
const API_ID = '22222222-bbbb-4000-8000-000000000002'
/** The claims that all v2 access tokens of Entra ID have. */
const ENTRA = {
  aud: API_ID,
  azp: '33333333-cccc-4000-8000-000000000003',
  azpacr: '1',
  client_id: undefined,
  oid: '44444444-dddd-4000-8000-000000000004',
  sub: 'kSpXkq0o3d4VfQ',
  tid: TENANT,
  uti: 'a0Bc1De2',
  ver: '2.0',
}

t.test('use-entra-id.md protects two services with tokens of Entra ID', async (t) => {
  const { issuer, ask } = await follow(t, {
    blocks: documentedBlocks('docs/use-entra-id.md'),
    host: 'https://login.microsoftonline.com',
    issuer: {
      path: `/${TENANT}/v2.0`,
      token: {
        path: `/${TENANT}/oauth2/v2.0/token`,
        issue: (form) => ({
          claims:
            form.get('scope') === `api://${API_ID}/.default` ? { ...ENTRA, roles: ['Orders.Read'] } : {},
          header: { typ: 'JWT' },
        }),
      },
    },
  })
  const sign = (claims: object) => issuer.sign({ ...ENTRA, ...claims }, { typ: 'JWT' })
  const ofPerson = { scp: 'Orders.Read Orders.Write', name: 'Dana Doe', roles: undefined }
  const ofV1 = { iss: `https://sts.windows.net/${TENANT}/`, ver: '1.0', azp: undefined, appid: ENTRA.azp }
  await expectAll(t, ask, [
    ['a token of a person', sign(ofPerson), ''],
    ['a v1 token', sign({ ...ofPerson, ...ofV1, aud: `api://${API_ID}` }), FOREIGN],
    ['a token with the URI as audience', sign({ ...ofPerson, aud: `api://${API_ID}` }), ANOTHER_RESOURCE],
    ['a token of another tenant', sign({ ...ofPerson, iss: issuer.issuer.replace(TENANT, API_ID) }), FOREIGN],
  ])
  const roleOfPerson = sign({ ...ofPerson, scp: 'Orders.Write', roles: ['Orders.Read'] })
  t.equal((await ask(roleOfPerson)).status, 403, 'roles have no effect beside scp')
})

/** The claims of an access token of Auth0 for a machine-to-machine application. */
const AUTH0 = {
  aud: API,
  azp: 'orders-job',
  client_id: undefined,
  gty: 'client-credentials',
  scope: 'orders:read',
  sub: 'orders-job@clients',
}

/** The settings that let the permissions of RBAC decide. */
const PERMISSIONS = documentedBlock('docs/use-auth0.md', 'scope: [permissions]')

t.test('use-auth0.md protects two services with tokens of Auth0', async (t) => {
  const { issuer, ask, restartWith } = await follow(t, {
    blocks: documentedBlocks('docs/use-auth0.md'),
    others: [PERMISSIONS],
    host: 'https://example.auth0.com',
    issuer: {
      ending: '/',
      token: {
        path: '/oauth/token',
        issue: (form) => ({
          claims: { ...AUTH0, aud: form.get('audience'), scope: form.get('scope') },
          header: { typ: 'JWT' },
        }),
      },
    },
  })
  const sign = (claims: object, header = { typ: 'JWT' }) => issuer.sign({ ...AUTH0, ...claims }, header)
  const ofPerson = { aud: [API, `${issuer.issuer}userinfo`], gty: undefined, sub: 'auth0|123456' }
  const ofRfc9068 = { ...ofPerson, azp: undefined, client_id: 'web', jti: '73WakrfVbNJBaAmhQtEeDv' }
  await expectAll(t, ask, [
    ['a token of a person', sign(ofPerson), ''],
    ['a token of the RFC 9068 profile', sign(ofRfc9068, { typ: 'at+jwt' }), ''],
    ['an opaque token', 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..a.b.c', 'access token'],
    ['a token for /userinfo', sign({ aud: `${issuer.issuer}userinfo` }), ANOTHER_RESOURCE],
    ['an ID token', sign({ aud: 'web', scope: undefined }), ANOTHER_RESOURCE],
  ])
  const withPermissions = sign({ ...ofPerson, scope: 'openid', permissions: ['orders:read'] })
  t.equal((await ask(withPermissions)).status, 403, 'permissions have no effect by default')
  await restartWith(PERMISSIONS)
  t.equal((await ask(withPermissions)).status, 200, 'permissions are scopes with the setting of the guide')
})

/** The claims of an access token of Okta for an API service. */
const OKTA = {
  ver: 1,
  jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
  aud: API,
  cid: '0oa1example',
  client_id: undefined,
  scp: ['orders:read'],
  sub: '0oa1example',
}

t.test('use-okta.md protects two services with tokens of Okta', async (t) => {
  const { issuer, ask } = await follow(t, {
    blocks: documentedBlocks('docs/use-okta.md'),
    host: 'https://example.okta.com',
    issuer: {
      path: '/oauth2/default',
      token: {
        path: '/oauth2/default/v1/token',
        issue: (form) => ({
          claims: { ...OKTA, scp: form.get('scope')?.split(' ') },
          header: { typ: undefined },
        }),
      },
    },
  })
  const sign = (claims: object) => issuer.sign({ ...OKTA, ...claims }, { typ: undefined })
  await expectAll(t, ask, [
    [
      'a token of a person',
      sign({ uid: '00u1', sub: 'dana@example.com', scp: ['openid', 'orders:read'] }),
      '',
    ],
    ['the default audience', sign({ aud: 'api://default' }), ANOTHER_RESOURCE],
    ['the server of the organization', sign({ iss: new URL(issuer.issuer).origin }), FOREIGN],
    ['an ID token', sign({ aud: '0oa1example', scp: undefined, at_hash: 'x' }), NO_ACCESS_TOKEN],
  ])
})
