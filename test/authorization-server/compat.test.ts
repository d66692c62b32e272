import { auth } from '@modelcontextprotocol/client'
import t from 'tap'
import { createInMemoryProvider } from '../../examples/clients/in-memory-provider.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { type Parameters, send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { type AuthorizationServer, startServer } from '../fixtures/start-authorization-server.ts'

const OFF = { defaultScope: undefined, optionalState: false, loopbackRedirects: false } as const
const ON = { defaultScope: 'openid courses:read', optionalState: true, loopbackRedirects: true } as const

const register = (server: AuthorizationServer, redirectUri: string) =>
  send(`${server.baseUrl}${ENDPOINTS.registration}`, { json: { redirect_uris: [redirectUri] } })
const PORTLESS = 'http://127.0.0.1/callback'
const LOCALHOST = 'http://localhost:3118/callback'

t.test('each compat setting is off by default, and allows only its own exception', async (t) => {
  const rows = [
    ['none', OFF, { scope: false, state: false, redirects: false }],
    ['defaultScope', { ...OFF, defaultScope: 'openid' }, { scope: true, state: false, redirects: false }],
    ['optionalState', { ...OFF, optionalState: true }, { scope: false, state: true, redirects: false }],
    [
      'loopbackRedirects',
      { ...OFF, loopbackRedirects: true },
      { scope: false, state: false, redirects: true },
    ],
  ] as const
  for (const [name, compat, allowed] of rows) {
    const server = await startServer(t, { compat })
    const client = await registerClient(server)
    const challenge = makePkce().challenge
    /** Returns the error in the redirect to the client, or undefined when the server shows the sign-in page. */
    const errorOf = async (overrides: Parameters): Promise<string | null | undefined> => {
      const answer = await send(client.authorizeUrl('openid', challenge, overrides))
      const location = new URL(answer.headers.get('location') ?? '', server.baseUrl)
      return location.pathname.startsWith(ENDPOINTS.interaction)
        ? undefined
        : location.searchParams.get('error')
    }
    const expected = (isAllowed: boolean) => (isAllowed ? undefined : 'invalid_request')
    t.equal(await errorOf({ scope: undefined }), expected(allowed.scope), `${name}: no scope`)
    t.equal(await errorOf({ scope: '' }), expected(allowed.scope), `${name}: an empty scope`)
    t.equal(await errorOf({ state: undefined }), expected(allowed.state), `${name}: no state`)
    t.equal(await errorOf({ scope: 'courses:juggle' }), 'invalid_scope', `${name}: an unknown scope`)
    t.equal(await errorOf({ code_challenge: undefined }), 'invalid_request', `${name}: no PKCE`)
    const status = allowed.redirects ? 201 : 400
    for (const uri of [PORTLESS, LOCALHOST, 'http://localhost/callback'])
      t.equal((await register(server, uri)).status, status, `${name}: ${uri}`)
    for (const uri of [
      'https://app.example.com/callback',
      'http://127.0.0.1.evil.example/',
      'http://10.0.0.1/',
    ])
      t.match(await register(server, uri), { status: 400, json: { error: 'invalid_redirect_uri' } }, name)
  }
})

t.test('the default scope also applies to pushed requests, and the token response contains it', async (t) => {
  const server = await startServer(t, { compat: ON })
  const client = await registerClient(server)
  const { verifier, challenge } = makePkce()
  const {
    scope: _scope,
    state: _state,
    ...parameters
  } = Object.fromEntries(client.authorizeUrl('openid', challenge).searchParams)
  const pushed = await send(`${server.baseUrl}${ENDPOINTS.pushedAuthorizationRequest}`, { form: parameters })
  t.equal(pushed.status, 201)
  const address = new URL(`${server.baseUrl}${ENDPOINTS.authorization}`)
  address.search = new URLSearchParams({
    client_id: client.clientId,
    request_uri: String(pushed.json['request_uri']),
  }).toString()
  const redirect = await signIn(openBrowser(server.baseUrl), address)
  t.notOk(redirect.searchParams.has('state'), 'the redirect has no state, because the request had no state')
  t.equal(redirect.searchParams.get('iss'), server.baseUrl)
  const answer = await client.exchange({ code: redirect.searchParams.get('code') ?? '', verifier })
  t.equal(client.readTokens(answer).scope, ON.defaultScope)
})

t.test('a redirect URI without a port matches any port, with the same host and path only', async (t) => {
  const server = await startServer(t, { compat: ON })
  for (const host of ['127.0.0.1', 'localhost']) {
    const client = await registerClient(server, { redirect_uris: [`http://${host}/callback`] })
    const authorize = async (redirectUri: string) =>
      (await send(client.authorizeUrl('openid', makePkce().challenge, { redirect_uri: redirectUri }))).status
    t.equal(await authorize(`http://${host}:51789/callback`), 303)
    t.equal(await authorize(`http://${host}:51790/callback`), 303)
    const other = host === 'localhost' ? '127.0.0.1' : 'localhost'
    for (const wrong of [
      `http://${other}:51789/callback`,
      `http://${host}:51789/other`,
      `http://${host}:0/callback`,
      `http://${host}.evil.example:51789/callback`,
      `https://${host}:51789/callback`,
    ])
      t.equal(await authorize(wrong), 400, wrong)
  }
})

t.test('a web client must register a port, because its redirect URIs match exactly', async (t) => {
  const server = await startServer(t, { compat: ON })
  const registerAs = (type: string, redirectUri: string) =>
    send(`${server.baseUrl}${ENDPOINTS.registration}`, {
      json: { application_type: type, redirect_uris: [LOCALHOST, redirectUri] },
    })
  for (const redirectUri of [PORTLESS, 'http://localhost/callback'])
    t.match(await registerAs('web', redirectUri), {
      status: 400,
      json: {
        error: 'invalid_redirect_uri',
        error_description: `redirect_uris[1] "${redirectUri}": a redirect URI of a web client must have a port, because the URI must match exactly. Add the port, or register with application_type native, which accepts any port.`,
      },
    })
  t.equal((await registerAs('web', 'http://127.0.0.1:4000/callback')).status, 201)
  t.equal((await registerAs('native', PORTLESS)).status, 201)
})

t.test('the MCP SDK signs in without scope and state, with localhost', async (t) => {
  const server = await startServer(t, { compat: ON })
  const asked: URL[] = []
  const provider = createInMemoryProvider({
    clientName: 'An agent with its defaults',
    redirectUrl: LOCALHOST,
    sendTo: (address) => void asked.push(address),
    onTokens: (tokens) => {
      server.secret(tokens.access_token)
      server.secret(tokens.refresh_token)
    },
    onVerifier: (verifier) => server.secret(verifier),
  })
  const { state: _state, ...stateless } = provider
  const defaults = Object.assign(Object.create(null), stateless) as typeof provider
  t.equal(await auth(defaults, { serverUrl: server.baseUrl }), 'REDIRECT')
  const [address] = asked
  if (address === undefined) throw new Error('the SDK opened no page')
  t.notOk(address.searchParams.has('state'))
  const redirect = await signIn(openBrowser(server.baseUrl), address)
  t.equal(redirect.hostname, 'localhost')
  const authorizationCode = redirect.searchParams.get('code') ?? ''
  server.secret(authorizationCode)
  const iss = redirect.searchParams.get('iss') ?? ''
  t.equal(await auth(defaults, { serverUrl: server.baseUrl, authorizationCode, iss }), 'AUTHORIZED')
})
