import t from 'tap'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// The scopes of docs/interface.md section 5.10. test/flows/families.test.ts tests the access that each scope gives.
const SCOPES = [
  ['openid', '§5 scope openid: OpenID Connect authentication'],
  ['profile', '§5 scope profile: Basic profile information'],
  ['email', '§5 scope email: Email address'],
  ['courses:read', '§5 scope courses:read: Read access to courses'],
  ['courses:write', '§5 scope courses:write: Write access to courses'],
  ['students:read', '§5 scope students:read: Read access to students'],
  ['students:write', '§5 scope students:write: Write access to students'],
  ['members:read', '§5 scope members:read: Read access to members'],
  ['members:write', '§5 scope members:write: Write access to members'],
  ['analytics:read', '§5 scope analytics:read: Read access to analytics'],
  ['curriculum:read', '§5 scope curriculum:read: Read access to curriculum'],
  ['curriculum:write', '§5 scope curriculum:write: Write access to curriculum'],
  ['orders:read', '§5 scope orders:read: Read access to orders'],
  ['school:read', '§5 scope school:read: Read access to school'],
  ['school:write', '§5 scope school:write: Write access to school'],
  ['appearance:read', '§5 scope appearance:read: Read access to appearance'],
  ['appearance:write', '§5 scope appearance:write: Write access to appearance'],
  ['events:read', '§5 scope events:read: Read access to events'],
  ['events:write', '§5 scope events:write: Write access to events'],
  ['membership_plans:read', '§5 scope membership_plans:read: Read access to membership plans'],
  ['membership_plans:write', '§5 scope membership_plans:write: Write access to membership plans'],
  ['coupons:read', '§5 scope coupons:read: Read access to coupons'],
  ['coupons:write', '§5 scope coupons:write: Write access to coupons'],
  ['posts:read', '§5 scope posts:read: Read access to posts'],
  ['posts:write', '§5 scope posts:write: Write access to posts'],
  ['subscriptions:read', '§5 scope subscriptions:read: Read access to subscriptions'],
  ['subscriptions:write', '§5 scope subscriptions:write: Write access to subscriptions'],
  ['digital_products:read', '§5 scope digital_products:read: Read access to digital products'],
  ['digital_products:write', '§5 scope digital_products:write: Write access to digital products'],
  ['comments:read', '§5 scope comments:read: Read access to comments'],
  ['lecturers:read', '§5 scope lecturers:read: Read access to lecturers'],
  ['lecturers:write', '§5 scope lecturers:write: Write access to lecturers'],
  ['storage:write', '§5 scope storage:write: Write access to storage'],
  ['forms:read', '§5 scope forms:read: Read access to forms'],
  ['pages:read', '§5 scope pages:read: Read access to pages'],
  ['pages:write', '§5 scope pages:write: Write access to pages'],
  ['account:read', '§5 scope account:read: Read access to account'],
  ['account:write', '§5 scope account:write: Write access to account'],
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
