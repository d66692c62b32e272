import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { introspect } from '../fixtures/introspect.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const port = await quietPort()
const issuer = `http://localhost:${port}`
const shouted = `http://LocalHost:${port}`
const mcp = `${issuer}/mcp`
const resources = [issuer, mcp, `${issuer}/reports`]
const server = await startServer(t, { issuer, listen: { host: '127.0.0.1', port }, resources })
const client = await registerClient(server)
const scope = 'openid courses:read'

t.test(
  '§2.2 of RFC 8707: an unknown or additional resource gets invalid_target, and the code stays valid',
  async (t) => {
    const browser = openBrowser(server.baseUrl)
    const grant = await client.obtainCode({ browser, scope, overrides: { resource: mcp } })
    for (const resource of [
      'https://elsewhere.example',
      `${issuer}/mcp/x`,
      `${issuer}/MCP`,
      `${shouted}/MCP`,
      `HTTPS://localhost:${port}/mcp`,
      `http://u@localhost:${port}/mcp`,
      `http://localhost.:${port}/mcp`,
      `http://localhost/mcp`,
      `${mcp}//`,
      `${mcp}?a=b`,
      `${mcp}#x`,
      `${issuer}/mcpx`,
      '/mcp',
      [mcp, issuer],
      [mcp, 'https://elsewhere.example'],
    ]) {
      const answer = await client.exchange(grant, { resource })
      t.match(answer, { status: 400, json: { error: 'invalid_target' } }, String(resource))
      t.type(answer.json['error_description'], 'string')
    }
    t.match(
      await client.exchange(grant, { resource: issuer }),
      { status: 400, json: { error: 'invalid_target', error_description: /authorize again/ } },
      'a known resource that the user did not authorize',
    )
    const answer = await client.exchange(grant, { resource: `${mcp}/` })
    t.equal(answer.status, 200, 'the code is still valid')
    const tokens = client.readTokens(answer)
    t.match(await introspect(server, tokens.accessToken), { active: true, aud: mcp })

    t.match(await client.refresh(tokens.refreshToken, { resource: issuer }), {
      json: { error: 'invalid_target' },
    })
    t.match(await client.refresh(tokens.refreshToken, { resource: [mcp, issuer] }), {
      json: { error: 'invalid_target' },
    })
    const renewed = client.readTokens(await client.refresh(tokens.refreshToken, { resource: mcp }))
    t.match(await introspect(server, renewed.accessToken), { active: true, aud: mcp })
    const again = client.readTokens(await client.refresh(renewed.refreshToken))
    t.match(
      await introspect(server, again.accessToken),
      { aud: mcp },
      'a refresh without resource keeps the audience',
    )
  },
)

t.test(
  '§2.1 of RFC 8707: a direct or pushed authorization request may name only one existing resource',
  async (t) => {
    const browser = openBrowser(server.baseUrl)
    const { challenge } = makePkce()
    for (const resource of ['https://elsewhere.example', `${mcp}//`, 'mcp', [mcp, issuer]]) {
      const left = await browser.visit(client.authorizeUrl(scope, challenge, { resource }))
      const location = left.left ? left.location : undefined
      t.equal(location?.searchParams.get('error'), 'invalid_target', String(resource))
      t.equal(location?.searchParams.get('state'), 'a-state')
      t.equal(location?.searchParams.get('iss'), issuer)
      const pushed = await send(`${issuer}${ENDPOINTS.pushedAuthorizationRequest}`, {
        form: {
          ...Object.fromEntries(client.authorizeUrl(scope, challenge).searchParams),
          resource,
        },
      })
      t.match(pushed, { status: 400, json: { error: 'invalid_target' } }, String(resource))
    }
    for (const resource of [`${mcp}`.replace('http', 'HTTP'), `${shouted}/mcp/`, [mcp, `${shouted}/mcp`]]) {
      const tokens = await client.obtainTokens({ browser, scope, overrides: { resource } }, { resource })
      t.match(await introspect(server, tokens.accessToken), { aud: mcp }, `${resource}: RFC 3986 §6.2.2.1`)
    }
    const twice = await client.obtainTokens({ browser, scope, overrides: { resource: [mcp, `${mcp}/`] } })
    t.match(await introspect(server, twice.accessToken), { aud: mcp }, 'a repeated resource counts once')
  },
)

t.test('without the parameter resource, a token is for the API itself', async (t) => {
  const browser = openBrowser(server.baseUrl)
  const tokens = await client.obtainTokens({ browser, scope })
  t.match(await introspect(server, tokens.accessToken), { active: true, aud: issuer })
  t.equal((await send(issuer + ENDPOINTS.userinfo, { token: tokens.accessToken })).status, 200)
})

t.test('userinfo rejects tokens of another resource', async (t) => {
  const browser = openBrowser(server.baseUrl)
  const tokens = await client.obtainTokens({ browser, scope, overrides: { resource: mcp } })
  const answer = await send(issuer + ENDPOINTS.userinfo, { token: tokens.accessToken })
  t.match(answer, { status: 401, json: { error: 'invalid_token' } })
})

t.test('§4 of RFC 9728: the metadata lists every resource', async (t) => {
  for (const path of [ENDPOINTS.authorizationServerMetadata, ENDPOINTS.openidConfiguration])
    t.same((await send(issuer + path)).json['protected_resources'], resources)
})
