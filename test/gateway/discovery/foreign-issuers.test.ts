import t, { type Test } from 'tap'
import { BASE_URL, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../../fixtures/a-jwt-config.ts'
import { send } from '../../fixtures/send.ts'

const ISSUERS = ['https://login.test/tenant', 'https://other.test'] as const

async function start(t: Test) {
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: ISSUERS.map((issuer) =>
        aJwtIssuerConfig(issuer, { keys: { by: 'uri', uri: 'http://127.0.0.1:9/' } }),
      ),
      authorizationServer: undefined,
    }),
  })
  return (path: string, accept = '*/*') => send(gateway.url + path, { headers: { accept } })
}

t.test('with only foreign issuers, documents contain no link with the status 404', async (t) => {
  const get = await start(t)
  const linked = new Set<string>()
  for (const [path, accept] of [
    ['/', 'application/json'],
    ['/', 'text/html'],
    ['/auth.md', '*/*'],
    ['/openapi.json', '*/*'],
    ['/.well-known/api-catalog', '*/*'],
    ['/.well-known/oauth-protected-resource', '*/*'],
  ] as const) {
    const { status, text } = await get(path, accept)
    t.equal(status, 200, path)
    for (const [, own = ''] of text.matchAll(/(?:http:\/\/api\.test|href=")(\/[\w./-]*)/g))
      linked.add(own.replace(/\.$/, ''))
  }
  t.ok(linked.has('/.well-known/oauth-protected-resource'))
  for (const path of linked) t.not((await get(path)).status, 404, path)
})

t.test('/auth.md lists each issuer with its metadata URLs and describes no flow', async (t) => {
  const get = await start(t)
  const { text } = await get('/auth.md')
  for (const address of [
    'https://login.test/.well-known/oauth-authorization-server/tenant',
    'https://login.test/tenant/.well-known/openid-configuration',
    'https://other.test/.well-known/oauth-authorization-server',
    'https://other.test/.well-known/openid-configuration',
  ])
    t.match(text, address)
  t.match(text, `resource=${BASE_URL}`)
  t.notMatch(text, /register|PKCE|refresh token|consent|in a browser|redirect/i)
  t.notMatch(text, '/api/oauth/')
})
