import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import type { DocumentNetwork } from '../../authorization-server/client-documents/fetch-client-document.ts'
import type { AuthorizationServerConfig } from '../../authorization-server/config.ts'
import { SQLITE_FILE_NAME } from '../../authorization-server/store/open-store.ts'
import { main } from '../../cli/main.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import {
  type DocumentHost,
  registrationWith,
  sendDocument,
  startAgentHost,
  startDocumentHost,
} from '../fixtures/a-document-host.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { type Browser, openBrowser } from '../fixtures/open-browser.ts'
import { makePkce } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { answerPage, signIn } from '../fixtures/sign-in.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'

type Agent = {
  readonly server: AuthorizationServer
  readonly host: DocumentHost
  readonly network: DocumentNetwork
  readonly clientId: string
  readonly document: Readonly<Record<string, unknown>>
}

/** Starts an https server with the client document of an agent, and a server that accepts documents of this host. */
async function startAgent(t: Test, overrides: Partial<AuthorizationServerConfig> = {}): Promise<Agent> {
  const { host, network, domains, registration } = await startAgentHost(t)
  const [domain = ''] = domains
  const clientId = `https://${domain}/oauth/client.json`
  const document = {
    client_id: clientId,
    client_name: 'Helpful <b>agent</b>',
    client_uri: 'https://127.0.0.1/',
    logo_uri: `https://${domain}/logo.png`,
    jwks_uri: `https://${domain}/jwks.json`,
    sector_identifier_uri: `https://${domain}/sector.json`,
    scope: 'openid',
    redirect_uris: [
      `https://${domain}/callback`,
      'http://localhost/callback',
      'https://other.example/callback',
    ],
    token_endpoint_auth_method: 'none',
  }
  host.respond(sendDocument(document))
  const server = await startServer(t, { registration, ...overrides }, { documentNetwork: network })
  return { server, host, network, clientId, document }
}

function authorizeUrl(
  { server, clientId }: Pick<Agent, 'server' | 'clientId'>,
  redirectUri: string,
  challenge: string,
  scope = 'openid courses:read',
): URL {
  const url = new URL(server.baseUrl + ENDPOINTS.authorization)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 'state-1',
  }).toString()
  return url
}

async function post(server: AuthorizationServer, path: string, fields: Record<string, string>) {
  const response = await fetch(server.baseUrl + path, { method: 'POST', body: new URLSearchParams(fields) })
  const body = (await response.json()) as Readonly<Record<string, unknown>>
  for (const name of ['access_token', 'refresh_token']) server.secret(body[name] as string | undefined)
  return { status: response.status, body }
}

async function completeSignIn(
  agent: Pick<Agent, 'server' | 'clientId'>,
  redirectUri: string,
  browser: Browser = openBrowser(agent.server.baseUrl),
) {
  const { server, clientId } = agent
  const pkce = makePkce()
  const location = await signIn(browser, authorizeUrl(agent, redirectUri, pkce.challenge))
  const code = location.searchParams.get('code') ?? ''
  server.secret(code)
  return post(server, ENDPOINTS.token, {
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    redirect_uri: redirectUri,
    code_verifier: pkce.verifier,
  })
}

t.test('§5 of CIMD: an agent with a document completes the flow with one fetch', async (t) => {
  const agent = await startAgent(t)
  const { server, host, clientId } = agent
  const ownRedirect = `https://${new URL(clientId).host}/callback`
  for (const redirectUri of [ownRedirect, 'http://localhost:49152/callback']) {
    const tokens = await completeSignIn(agent, redirectUri)
    t.match(tokens, { status: 200, body: { scope: 'openid courses:read' } }, redirectUri)
    const introspection = await post(server, ENDPOINTS.introspection, {
      token: String(tokens.body['access_token']),
      client_id: 'gateway',
      client_secret: server.gatewaySecret,
    })
    t.match(introspection.body, { active: true, client_id: clientId, scope: 'openid courses:read' })
    const userinfo = await fetch(server.baseUrl + ENDPOINTS.userinfo, {
      headers: { authorization: `Bearer ${String(tokens.body['access_token'])}` },
    })
    t.equal(userinfo.status, 200)
    const refreshed = await post(server, ENDPOINTS.token, {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: String(tokens.body['refresh_token']),
    })
    t.match(refreshed, { status: 200, body: { scope: 'openid courses:read' } })
  }
  t.same(host.requests, ['/oauth/client.json'], 'no other URL of the document is fetched')
})

t.test('§5 of CIMD: a removed client must ask the person again', async (t) => {
  const agent = await startAgent(t, { consent: { rememberSeconds: 600, includesLocalApps: false } })
  const { server, clientId } = agent
  const redirectUri = `https://${new URL(clientId).host}/callback`
  const browser = openBrowser(server.baseUrl)
  const run = async (command: string) => {
    const terminal = aTerminal({ env: { SCOPEGATE_DATA_DIR: server.dataDir } })
    return { code: await main(command.split(' '), terminal), ...terminal.said }
  }
  for (const [command, more] of [
    [`grant revoke --client ${clientId}`, '0 grants revoked.\n'],
    [
      `client remove ${clientId}`,
      `${clientId} is removed; 0 grants revoked. People can allow this client again, because its client_id is the URL of a client document. To prevent this, remove the host of the URL from registration.clientDocuments.domains, and restart the server.\n`,
    ],
  ] as const) {
    const { body } = await completeSignIn(agent, redirectUri, browser)
    t.match(JSON.parse((await run(`client show ${clientId} --json`)).out), { kind: 'document', grants: 1 })
    // The revocation by the client ends the grant, but does not delete the consent.
    const revocation = { client_id: clientId, token: String(body['refresh_token']) }
    t.equal((await send(server.baseUrl + ENDPOINTS.revocation, { form: revocation })).status, 200)
    t.strictSame(await run(command), { code: 0, out: `scopegate: ${more}`, err: '' })
    const page = await browser.visit(authorizeUrl(agent, redirectUri, makePkce().challenge))
    t.match(page, { left: false, html: 'wants to use your account' }, command)
  }
})

t.test('§6 of CIMD: metadata announces client documents only with listed hosts', async (t) => {
  for (const [agent, expected] of [
    [(await startAgent(t)).server, true],
    [await startServer(t), undefined],
  ] as const)
    for (const path of [ENDPOINTS.authorizationServerMetadata, ENDPOINTS.openidConfiguration]) {
      const metadata = (await (await fetch(agent.baseUrl + path)).json()) as Record<string, unknown>
      t.equal(metadata['client_id_metadata_document_supported'], expected, path)
    }
})

t.test('§8.5 of CIMD: the pages show the host as the identity and the name as not verified', async (t) => {
  const agent = await startAgent(t)
  const host = new URL(agent.clientId).host
  const browser = openBrowser(agent.server.baseUrl)
  const redirectUri = `https://${host}/callback`
  const signInPage = await browser.visit(authorizeUrl(agent, redirectUri, makePkce().challenge))
  if (signInPage.left) throw new Error('the sign-in page is missing')
  t.match(signInPage.html, `to continue to <strong><bdi>${host}</bdi></strong>`)
  t.notMatch(signInPage.html, 'Helpful')
  const consent = await answerPage(browser, signInPage)
  if (consent.left) throw new Error('the consent page is missing')
  t.match(consent.html, `<bdi>${host}</bdi> wants to use your account`)
  t.match(consent.html, `This app belongs to <strong><bdi>${host}</bdi></strong>`)
  t.match(consent.html, 'uses the name <bdi>Helpful &#60;b&#62;agent&#60;/b&#62;</bdi>')
  t.match(consent.html, '<span class="badge">Not verified</span>')
  t.notMatch(consent.html, 'logo.png')
})

t.test('§4.2 of CIMD: a redirect URI outside of the rules gets a page without a redirect', async (t) => {
  const agent = await startAgent(t)
  const host = new URL(agent.clientId).host
  for (const redirectUri of [
    'https://other.example/callback', // in the document, but on another host
    `https://${host}/other`,
    'https://agent.example/callback',
    'http://localhost/other',
    'http://localhost:0/callback',
    'https://localhost/callback',
    'http://10.0.0.1/callback',
    'http://127.0.0.1:49152/callback', // the document has only localhost
    'http://[::1]:49152/callback',
    'http://user@localhost:49152/callback',
    'http://localhost:49152@evil.example/callback',
    'http://localhost.evil.example/callback',
    'http://localhost:49152/callback?a=1',
    'http://localhost:49152/callback#a',
    'http://localhost:49152/callback/../callback',
    'http://localhost:049152/callback',
    `https://${host}/callback/`,
    `https://${host}/callback?a=1`,
    `https://${host}@evil.example/callback`,
    `https://${host}.evil.example/callback`,
    `//${host}/callback`,
    'javascript:alert(1)',
  ]) {
    const page = await openBrowser(agent.server.baseUrl).visit(
      authorizeUrl(agent, redirectUri, makePkce().challenge),
    )
    if (page.left) throw new Error(`a redirect to ${redirectUri}`)
    t.equal(page.status, 400, redirectUri)
    t.match(page.html, 'invalid_redirect_uri', redirectUri)
  }
})

t.test('§5.1 of CIMD: an invalid client document gets a page with the reason, and a log line', async (t) => {
  const agent = await startAgent(t)
  const { server, host, document, clientId } = agent
  const visit = async (id: string) => {
    const page = await openBrowser(server.baseUrl).visit(
      authorizeUrl({ server, clientId: id }, 'http://localhost/callback', makePkce().challenge),
    )
    if (page.left) throw new Error('a redirect')
    return page
  }
  host.respond(sendDocument({ ...document, client_secret: 'secret' }))
  const rejected = await visit(clientId)
  t.equal(rejected.status, 400)
  t.match(rejected.html, 'invalid_client: a client document must not have a client secret')
  t.match(
    server.log().find(({ event }) => event === 'client_document_rejected'),
    { level: 'warn', client_id: clientId, reason: 'client_secret' },
  )
  const unlisted = await visit('https://other.example/client.json')
  t.equal(unlisted.status, 400)
  t.match(unlisted.html, 'only from the hosts that its operator listed')
  t.equal(host.requests.length, 1, 'one fetch for one request')
  const metrics = await (await fetch(`${server.managementUrl}/metrics`)).text()
  t.match(metrics, 'scopegate_oauth_client_documents_total{result="client_secret"} 1')
})

t.test(
  '§8.6 of CIMD: the server does not connect to a loopback host, even if the host is listed',
  async (t) => {
    const host = await startDocumentHost(t)
    const domain = `localhost:${host.port}`
    const server = await startServer(t, { registration: registrationWith(domain) })
    const page = await openBrowser(server.baseUrl).visit(
      authorizeUrl(
        { server, clientId: `https://${domain}/client` },
        'http://localhost/callback',
        makePkce().challenge,
      ),
    )
    if (page.left) throw new Error('a redirect')
    t.equal(page.status, 400)
    t.match(page.html, 'the host of the client document must have public addresses only')
    t.equal(host.connections, 0)
  },
)

t.test('§7.2 of CIMD: an integration with the URL as client id needs no document', async (t) => {
  const { host, network, domains, registration } = await startAgentHost(t)
  const clientId = `https://${domains[0]}/oauth/client.json`
  const redirectUri = 'https://other.example/callback'
  const integration = {
    clientId,
    clientName: 'Agent',
    redirectUris: [redirectUri],
    clientSecretFile: undefined,
    trusted: false,
  }
  const server = await startServer(
    t,
    { registration, integrations: [integration] },
    { documentNetwork: network },
  )
  const tokens = await completeSignIn({ server, clientId }, redirectUri)
  t.match(tokens, { status: 200, body: { scope: 'openid courses:read' } })
  t.equal(host.connections, 0)
})

t.test('without listed hosts, a URL is an unknown client', async (t) => {
  const { host, network, domains } = await startAgentHost(t)
  const server = await startServer(t, {}, { documentNetwork: network })
  const clientId = `https://${domains[0]}/client.json`
  const page = await openBrowser(server.baseUrl).visit(
    authorizeUrl({ server, clientId }, 'http://localhost/callback', makePkce().challenge),
  )
  if (page.left) throw new Error('a redirect')
  t.equal(page.status, 400)
  t.match(page.html, 'invalid_client: client is invalid')
  t.equal(host.connections, 0)
})

t.test('§5 of CIMD: the token endpoint fetches no document', async (t) => {
  const agent = await startAgent(t)
  const { server, host, clientId } = agent
  const answer = await post(server, ENDPOINTS.token, {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: 'unknown',
  })
  t.match(answer, { status: 401, body: { error: 'invalid_client' } })
  t.equal(host.connections, 0)
})

t.test('a pushed authorization request of an agent works, and shares the cached document', async (t) => {
  const agent = await startAgent(t)
  const { server, host, clientId } = agent
  const parameters = authorizeUrl(agent, 'http://localhost:1/callback', makePkce().challenge).searchParams
  const push = () => post(server, ENDPOINTS.pushedAuthorizationRequest, Object.fromEntries(parameters))
  const pushed = await Promise.all([push(), push(), push()])
  t.same(
    pushed.map(({ status }) => status),
    [201, 201, 201],
  )
  t.equal(host.requests.length, 1, 'concurrent requests share one fetch')
  const url = new URL(server.baseUrl + ENDPOINTS.authorization)
  url.search = new URLSearchParams({
    client_id: clientId,
    request_uri: String(pushed[0]?.body['request_uri']),
  }).toString()
  const location = await signIn(openBrowser(server.baseUrl), url)
  t.ok(location.searchParams.get('code'))
  server.secret(location.searchParams.get('code') ?? undefined)
})

t.test('§8.4 of CIMD: a grant outlives its document, and a changed document does not widen it', async (t) => {
  const agent = await startAgent(t)
  const { server, host, network, clientId, document } = agent
  const tokens = await completeSignIn(agent, 'http://localhost:1/callback')
  await server.stop()
  host.respond(
    sendDocument({
      ...document,
      scope: 'openid courses:read courses:write',
      redirect_uris: [`https://${new URL(clientId).host}/stolen`],
    }),
  )
  const requests = host.requests.length
  const restarted = await startServer(
    t,
    {
      dataDir: server.dataDir,
      issuer: server.baseUrl,
      registration: registrationWith(new URL(clientId).host),
    },
    { documentNetwork: { ...network, resolve: () => Promise.reject(new Error('no name service')) } },
  )
  const endpoint = { ...restarted, baseUrl: `http://127.0.0.1:${restarted.port}` }
  const refresh = (fields: Record<string, string>) =>
    post(endpoint, ENDPOINTS.token, {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: String(tokens.body['refresh_token']),
      ...fields,
    })
  const refreshed = await refresh({})
  t.match(refreshed, { status: 200, body: { scope: 'openid courses:read' } })
  const wider = await refresh({
    scope: 'openid courses:write',
    refresh_token: String(refreshed.body['refresh_token']),
  })
  t.match(wider, { status: 400, body: { error: 'invalid_scope' } })
  const introspection = await post(endpoint, ENDPOINTS.introspection, {
    token: String(refreshed.body['access_token']),
    client_id: 'gateway',
    client_secret: server.gatewaySecret,
  })
  t.match(introspection.body, { active: true, scope: 'openid courses:read' })
  t.equal(host.requests.length, requests)
})

t.test('§5 of CIMD: an authorization request uses the current document, not the stored copy', async (t) => {
  const agent = await startAgent(t)
  const { server, host, network, clientId, document } = agent
  const ownHost = new URL(clientId).host
  t.equal((await completeSignIn(agent, `https://${ownHost}/callback`)).status, 200)
  await server.stop()
  host.respond(sendDocument({ ...document, redirect_uris: [`https://${ownHost}/moved`] }))
  const restarted = await startServer(
    t,
    { dataDir: server.dataDir, registration: registrationWith(ownHost) },
    { documentNetwork: network },
  )
  const moved = { ...agent, server: restarted }
  t.equal((await completeSignIn(moved, `https://${ownHost}/moved`)).status, 200)
  const page = await openBrowser(restarted.baseUrl).visit(
    authorizeUrl(moved, `https://${ownHost}/callback`, makePkce().challenge),
  )
  t.equal(page.left, false, 'the server does not redirect to the removed redirect URI')
})

t.test('a remembered consent stores a copy of the document again', async (t) => {
  const agent = await startAgent(t, { consent: { rememberSeconds: 3_600, includesLocalApps: false } })
  const { server, clientId } = agent
  const browser = openBrowser(server.baseUrl)
  const redirectUri = `https://${new URL(clientId).host}/callback`
  t.equal((await completeSignIn(agent, redirectUri, browser)).status, 200)
  const database = new DatabaseSync(join(server.dataDir, SQLITE_FILE_NAME))
  t.equal(database.prepare("delete from artifacts where model = 'Client'").run().changes, 1)
  database.close()
  const departure = await browser.visit(authorizeUrl(agent, redirectUri, makePkce().challenge))
  t.equal(departure.left, true, 'the server shows no page')
  t.equal((await completeSignIn(agent, redirectUri, browser)).status, 200)
})

t.test('a sign-in ends when the host of the document is not listed any more', async (t) => {
  const agent = await startAgent(t)
  const { server, network, clientId } = agent
  const browser = openBrowser(server.baseUrl)
  const url = authorizeUrl(agent, 'http://localhost:1/callback', makePkce().challenge)
  const signInPage = await browser.visit(url)
  if (signInPage.left) throw new Error('the sign-in page is missing')
  await server.stop()
  for (const hosts of [['other.example'], [], [new URL(clientId).host]]) {
    const restarted = await startServer(
      t,
      {
        dataDir: server.dataDir,
        issuer: server.baseUrl,
        listen: { host: '127.0.0.1', port: server.port },
        registration: registrationWith(...hosts),
      },
      { documentNetwork: network },
    )
    const page = await browser.visit(signInPage.url)
    if (page.left) throw new Error('a redirect')
    t.match([page.status, page.html], hosts[0]?.startsWith('agent') ? [200, 'Password'] : [400, 'expired'])
    await restarted.stop()
  }
})

t.test('§8.9 of CIMD: the tokens of an agent end when its host is not listed any more', async (t) => {
  const agent = await startAgent(t)
  const { server, network, clientId } = agent
  const tokens = await completeSignIn(agent, 'http://localhost:1/callback')
  await server.stop()
  for (const hosts of [[], ['other.example']]) {
    const restarted = await startServer(
      t,
      { dataDir: server.dataDir, issuer: server.baseUrl, registration: registrationWith(...hosts) },
      { documentNetwork: network },
    )
    const endpoint = { ...restarted, baseUrl: `http://127.0.0.1:${restarted.port}` }
    const introspection = await post(endpoint, ENDPOINTS.introspection, {
      token: String(tokens.body['access_token']),
      client_id: 'gateway',
      client_secret: server.gatewaySecret,
    })
    t.same(introspection.body, { active: false }, hosts.join())
    const refreshed = await post(endpoint, ENDPOINTS.token, {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: String(tokens.body['refresh_token']),
    })
    t.match(refreshed, { status: 401, body: { error: 'invalid_client' } }, hosts.join())
    await restarted.stop()
  }
})
