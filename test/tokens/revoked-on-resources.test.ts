import { hash } from 'node:crypto'
import t from 'tap'
import { writeRevocation } from '../../oauth/revocation.ts'
import { BASE_URL, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { aRevocation } from '../fixtures/a-revocation.ts'
import { send } from '../fixtures/send.ts'
import { startRevocationSource } from '../fixtures/start-revocation-source.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
routes:
  - { name: any, match: { methods: [GET], path: "/**" }, scopes: { all: [posts:read] } }
`
const PATHS = ['/x', '/mcp/x', '/reports/x']
const AUDIENCE = [BASE_URL, `${BASE_URL}/mcp`, `${BASE_URL}/reports`]

t.test(
  'rejects a revoked token on every resource, and ignores revocations of another issuer’s tokens',
  async (t) => {
    const source = await startRevocationSource(t)
    const one = await startJwtIssuer()
    const two = await startJwtIssuer()
    t.teardown(() => Promise.all([one.close(), two.close()]))
    const { gateway, issuer, log } = await startGatewayUnderTest(t, {
      policy: POLICY,
      change: (config) => {
        const [asked] = config.issuers
        if (asked === undefined) throw new Error('there is one')
        // The sender of the revocation stream of `one` also tries to revoke tokens of `two`.
        const told = { introspection: asked.introspection, revocations: source.url }
        return {
          ...config,
          issuers: [{ ...aJwtIssuerConfig(one.issuer), ...told }, aJwtIssuerConfig(two.issuer), asked],
          resources: [
            { path: '/mcp', issuers: [two.issuer, one.issuer, BASE_URL] },
            { path: '/reports', issuers: [BASE_URL, one.issuer, two.issuer] },
          ],
        }
      },
    })
    await until('connected', async () => log().some(({ event }) => event === 'revocations_connected'))
    const statuses = (token: string) =>
      Promise.all(PATHS.map(async (path) => (await send(gateway.url + path, { token })).status))
    const ALL = [200, 200, 200]
    const NONE = [401, 401, 401]
    const claims = { aud: AUDIENCE, scope: 'posts:read', jti: 'the same', sub: 'the same' }
    const now = Math.floor(Date.now() / 1_000)
    const ofOne = one.sign(claims)
    const ofTwo = two.sign(claims)
    issuer.store('opaque', {
      aud: AUDIENCE,
      scope: 'posts:read',
      grant: 'g',
      sub: 'the same',
      jti: 'the same',
    })
    for (const token of [ofOne, ofTwo, 'opaque']) t.same(await statuses(token), ALL)

    const name = (of: string, what: string): string => hash('sha256', `${of}\n${what}`, 'base64url')
    const tell = async (change: Parameters<typeof aRevocation>[0]) => {
      source.send('revoked', writeRevocation(aRevocation(change)))
    }
    // This sender may not cause these revocations: by token key, by subject, and with the name of the other issuer.
    await tell({ token: name(two.issuer, 'the same'), subject: name(two.issuer, 'the same') })
    await tell({ issuer: two.issuer, token: name(two.issuer, 'the same') })
    await tell({ issuer: BASE_URL, grant: 'g', subject: name(BASE_URL, 'the same'), atSeconds: now + 60 })
    await tell({ token: name(one.issuer, 'the same') })
    await until('heard', async () => (await statuses(ofOne)).includes(401))
    t.same(await statuses(ofOne), NONE)
    for (const token of [ofTwo, 'opaque']) t.same(await statuses(token), ALL, 'nobody else’s')

    const other = one.sign({ ...claims, jti: 'another' })
    t.same(await statuses(other), ALL)
    await tell({ subject: name(one.issuer, 'the same'), atSeconds: now + 60 })
    await until('heard', async () => (await statuses(other)).includes(401))
    t.same(await statuses(other), NONE)
    for (const token of [ofTwo, 'opaque']) t.same(await statuses(token), ALL, 'nobody else’s')
    t.same(
      await statuses(two.sign(claims, { kid: one.key().jwk['kid'] })),
      ALL,
      'both revocation keys are equal',
    )
  },
)
