import t from 'tap'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// The scopes of docs/interface.md section 5.10. test/flows/families.test.ts tests the access that each scope gives.
const SCOPES = [
  ['openid', '§5 scope openid: the server offers it, and a token can have only this scope'],
  ['profile', '§5 scope profile: the server offers it, and a token can have only this scope'],
  ['email', '§5 scope email: the server offers it, and a token can have only this scope'],
  ['courses:read', '§5 scope courses:read: the server offers it, and a token can have only this scope'],
  ['courses:write', '§5 scope courses:write: the server offers it, and a token can have only this scope'],
  ['students:read', '§5 scope students:read: the server offers it, and a token can have only this scope'],
  ['students:write', '§5 scope students:write: the server offers it, and a token can have only this scope'],
  ['members:read', '§5 scope members:read: the server offers it, and a token can have only this scope'],
  ['members:write', '§5 scope members:write: the server offers it, and a token can have only this scope'],
  ['analytics:read', '§5 scope analytics:read: the server offers it, and a token can have only this scope'],
  ['curriculum:read', '§5 scope curriculum:read: the server offers it, and a token can have only this scope'],
  [
    'curriculum:write',
    '§5 scope curriculum:write: the server offers it, and a token can have only this scope',
  ],
  ['orders:read', '§5 scope orders:read: the server offers it, and a token can have only this scope'],
  ['school:read', '§5 scope school:read: the server offers it, and a token can have only this scope'],
  ['school:write', '§5 scope school:write: the server offers it, and a token can have only this scope'],
  ['appearance:read', '§5 scope appearance:read: the server offers it, and a token can have only this scope'],
  [
    'appearance:write',
    '§5 scope appearance:write: the server offers it, and a token can have only this scope',
  ],
  ['events:read', '§5 scope events:read: the server offers it, and a token can have only this scope'],
  ['events:write', '§5 scope events:write: the server offers it, and a token can have only this scope'],
  [
    'membership_plans:read',
    '§5 scope membership_plans:read: the server offers it, and a token can have only this scope',
  ],
  [
    'membership_plans:write',
    '§5 scope membership_plans:write: the server offers it, and a token can have only this scope',
  ],
  ['coupons:read', '§5 scope coupons:read: the server offers it, and a token can have only this scope'],
  ['coupons:write', '§5 scope coupons:write: the server offers it, and a token can have only this scope'],
  ['posts:read', '§5 scope posts:read: the server offers it, and a token can have only this scope'],
  ['posts:write', '§5 scope posts:write: the server offers it, and a token can have only this scope'],
  [
    'subscriptions:read',
    '§5 scope subscriptions:read: the server offers it, and a token can have only this scope',
  ],
  [
    'subscriptions:write',
    '§5 scope subscriptions:write: the server offers it, and a token can have only this scope',
  ],
  [
    'digital_products:read',
    '§5 scope digital_products:read: the server offers it, and a token can have only this scope',
  ],
  [
    'digital_products:write',
    '§5 scope digital_products:write: the server offers it, and a token can have only this scope',
  ],
  ['comments:read', '§5 scope comments:read: the server offers it, and a token can have only this scope'],
  ['lecturers:read', '§5 scope lecturers:read: the server offers it, and a token can have only this scope'],
  ['lecturers:write', '§5 scope lecturers:write: the server offers it, and a token can have only this scope'],
  ['storage:write', '§5 scope storage:write: the server offers it, and a token can have only this scope'],
  ['forms:read', '§5 scope forms:read: the server offers it, and a token can have only this scope'],
  ['pages:read', '§5 scope pages:read: the server offers it, and a token can have only this scope'],
  ['pages:write', '§5 scope pages:write: the server offers it, and a token can have only this scope'],
  ['account:read', '§5 scope account:read: the server offers it, and a token can have only this scope'],
  ['account:write', '§5 scope account:write: the server offers it, and a token can have only this scope'],
] as const

const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const browser = openBrowser(baseUrl)
const client = await registerClient(scopegate)
const metadata = await send(`${baseUrl}/.well-known/oauth-authorization-server`)
const walkthrough = await send(`${baseUrl}/auth.md`)
const offered = (metadata.json['scopes_supported'] as readonly string[]).filter(
  (name) => name !== 'offline_access',
)

t.test('the catalogue lists the scopes of section 5 in their order', async (t) => {
  t.same(
    offered,
    SCOPES.map(([scope]) => scope),
  )
})

for (const [scope, name] of SCOPES) {
  t.test(name, async (t) => {
    t.ok(offered.includes(scope), 'the metadata offers it')
    t.match(walkthrough.text, `\`${scope}\``, 'auth.md explains it')
    const tokens = await client.obtainTokens({ browser, scope })
    t.match(await introspect(scopegate, tokens.accessToken), { active: true, scope })
    t.equal((await introspect(scopegate, tokens.accessToken))['scope'], scope, 'the token has no other scope')
  })
}

t.test('openid returns the subject, profile the name and email the address', async (t) => {
  const told: Record<string, Readonly<Record<string, unknown>>> = {}
  for (const scope of ['openid', 'openid profile', 'openid email']) {
    const { accessToken, idToken } = await client.obtainTokens({ browser, scope })
    t.ok(idToken, `${scope}: an ID token is issued`)
    told[scope] = (await send(`${baseUrl}/api/oauth/userinfo`, { token: accessToken })).json
  }
  t.same(Object.keys(told['openid'] ?? {}), ['sub'])
  t.match(told['openid profile'], { sub: String, name: String })
  t.notOk('email' in (told['openid profile'] ?? {}))
  t.match(told['openid email'], { sub: String, email: /@/ })
  t.notOk('name' in (told['openid email'] ?? {}))
  const { idToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  t.equal(idToken, undefined, 'the response without openid has no ID token')
})
