import { decodeJwt } from 'jose'
import t, { type Test } from 'tap'
import type { SignInProvider } from '../../../authorization-server/config.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { PROVIDER_CLIENT, startOpenidProvider } from '../../fixtures/an-openid-provider.ts'
import { beforeAuthorizationServer } from '../../fixtures/before-authorization-server.ts'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { parseChallenge } from '../../fixtures/parse-challenge.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { registerClient } from '../../fixtures/register-client.ts'
import { send } from '../../fixtures/send.ts'
import { signIn } from '../../fixtures/sign-in.ts'
import {
  clientSecretFile,
  comeBack,
  departure,
  finish,
  leave,
  page,
  settings,
  signInThrough,
} from '../../fixtures/sign-in-through-provider.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: any, match: { methods: [GET], path: /any }, upstreamAuth: assertion }
  - name: staff
    match: { methods: [GET], path: /staff }
    when:
      - { claim: groups, equals: staff }
      - { claim: roles, equals: editor }
      - { claim: amr, equals: otp }
      - { claim: acr, equals: mfa }
      - { claim: name, equals: Person One }
      - { claim: email, equals: one@example.com }
  - { name: strong, match: { methods: [GET], path: /strong }, authentication: { acr: [mfa], maxAge: 1h } }
`

const provider = await startOpenidProvider(t)
t.afterEach(() => {
  provider.behavior = {}
})

/** Starts a gateway, an authorization server and a provider, and registers a client. */
async function startAll(
  t: Test,
  {
    format = 'opaque',
    issuer = provider.issuer,
    port: chosen,
  }: {
    readonly format?: 'opaque' | 'jwt'
    readonly issuer?: string
    readonly port?: number
  } = {},
) {
  const [port, serverPort] = [chosen ?? (await quietPort()), await quietPort()]
  const base = `http://127.0.0.1:${port}`
  const mapped: Partial<SignInProvider> = {
    claims: { name: 'name', email: 'email', groups: 'groups', roles: 'realm_access.roles' },
  }
  const server = await startServer(t, {
    issuer: base,
    listen: { host: '127.0.0.1', port: serverPort },
    accessTokens: { format, algorithm: 'ES256', resources: new Map() },
    signIn: { local: true, providers: [settings(issuer, mapped)] },
  })
  const serverUrl = `http://127.0.0.1:${serverPort}`
  const { upstream } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...beforeAuthorizationServer(config, { base, port, serverUrl, gatewaySecret: server.gatewaySecret }),
      identity: { claims: ['acr', 'amr', 'auth_time', 'email', 'groups', 'name', 'roles'] },
    }),
  })
  const call = (path: string, token: string) => send(`${base}${path}`, { token })
  const introspect = async (token: string) => {
    const form = { client_id: 'gateway', client_secret: server.gatewaySecret, token }
    return (await send(`${serverUrl}${ENDPOINTS.introspection}`, { form })).json
  }
  return { server, client: await registerClient(server), upstream, call, introspect }
}

/** Returns the decoded headers with claims that the upstream received. */
function claimHeaders(upstream: Awaited<ReturnType<typeof startAll>>['upstream'], names: readonly string[]) {
  return Object.fromEntries(
    names.map((name) => [
      name,
      upstream.seen(`x-auth-claim-${name.replaceAll('_', '-')}`).map(decodeURIComponent),
    ]),
  )
}

for (const format of ['opaque', 'jwt'] as const)
  t.test(`claims of the provider reach introspection, upstreams and conditions (${format})`, async (t) => {
    const all = await startAll(t, { format })
    const authTime = Math.floor(Date.now() / 1_000) - 20
    const signInClaims = { acr: 'mfa', amr: ['pwd', 'otp'], auth_time: authTime }
    const account = { groups: ['staff', 'x'], realm_access: { roles: ['editor'] } }
    provider.behavior = { claims: { ...signInClaims, ...account } }
    const { tokens } = await signInThrough(all, provider)
    const expected = {
      ...signInClaims,
      groups: ['staff', 'x'],
      roles: ['editor'],
      name: 'Person One',
      email: 'one@example.com',
    }
    const refreshed = all.client.readTokens(await all.client.refresh(tokens.refreshToken))
    for (const { accessToken } of [tokens, refreshed]) {
      t.match(await all.introspect(accessToken), { active: true, ...expected })
      if (format === 'jwt') t.match(decodeJwt(accessToken), expected)
      t.equal((await all.call('/any', accessToken)).status, 200)
      t.strictSame(claimHeaders(all.upstream, Object.keys(expected)), {
        acr: ['mfa'],
        amr: ['pwd,otp'],
        auth_time: [String(authTime)],
        groups: ['staff,x'],
        roles: ['editor'],
        name: ['Person One'],
        email: ['one@example.com'],
      })
      const [assertion = ''] = all.upstream.seen('x-auth-assertion')
      t.strictSame(decodeJwt(assertion)['claims'], expected)
      t.equal((await all.call('/staff', accessToken)).status, 200)
    }
    t.match(decodeJwt(tokens.idToken ?? ''), signInClaims)

    provider.behavior = { claims: { ...signInClaims, ...account, groups: ['other'] } }
    const other = await signInThrough(all, provider)
    t.equal((await all.call('/staff', other.tokens.accessToken)).status, 403)
    t.equal((await all.call('/staff', refreshed.accessToken)).status, 200, 'a token keeps its claims')
    const renewed = all.client.readTokens(await all.client.refresh(refreshed.refreshToken))
    t.equal((await all.call('/staff', renewed.accessToken)).status, 403, 'a refresh reads the account')
  })

t.test('name and e-mail are in tokens with their scopes only', async (t) => {
  const all = await startAll(t)
  const browser = openBrowser(all.server.baseUrl)
  const scopes = [
    ['openid courses:read', {}],
    ['openid profile', { name: 'Person One' }],
    ['openid email', { email: 'one@example.com' }],
  ] as const
  for (const [scope, expected] of scopes) {
    const { request, verifier } = await leave(all, browser, { scope, prompt: 'login' })
    const consent = await comeBack(all, browser, provider.authorize(request))
    const { tokens } = await finish(all, browser, verifier, consent)
    const { name, email } = await all.introspect(tokens.accessToken)
    t.strictSame(JSON.parse(JSON.stringify({ name, email })), expected, scope)
  }
})

t.test('a second instance of this server as the provider sends auth_time and amr', async (t) => {
  const port = await quietPort()
  const company = await startServer(t, {
    integrations: [
      {
        clientId: PROVIDER_CLIENT,
        clientName: 'API platform',
        redirectUris: [`http://127.0.0.1:${port}${ENDPOINTS.signIn}/company/callback`],
        clientSecretFile,
      },
    ],
  })
  const all = await startAll(t, { issuer: company.baseUrl, port })
  const browser = openBrowser(all.server.baseUrl)
  const { request, verifier } = await leave(all, browser)
  const response = await signIn(openBrowser(company.baseUrl), request)
  const consent = await comeBack(all, browser, response.search.slice(1))
  const { tokens } = await finish(all, browser, verifier, consent)
  const claims = await all.introspect(tokens.accessToken)
  t.match(claims, { amr: ['pwd'], name: 'Alice Example', auth_time: Number })
  t.equal((await all.call('/any', tokens.accessToken)).status, 200)
  t.strictSame(claimHeaders(all.upstream, ['amr', 'name', 'acr']), {
    amr: ['pwd'],
    name: ['Alice Example'],
    acr: [],
  })
})

t.test('§4 of RFC 9470: acr_values of a challenge lead to a stronger sign-in at the provider', async (t) => {
  const all = await startAll(t)
  const browser = openBrowser(all.server.baseUrl)
  provider.behavior = { claims: { acr: 'pwd' } }
  const { tokens } = await signInThrough(all, provider, browser)
  const answer = await all.call('/strong', tokens.accessToken)
  t.equal(answer.status, 401)
  const { parameters } = parseChallenge(answer.headers.get('www-authenticate'))
  t.match(parameters, { error: 'insufficient_user_authentication', acr_values: 'mfa', max_age: '3600' })
  const overrides = { acr_values: String(parameters['acr_values']), max_age: String(parameters['max_age']) }

  // The session is recent, but has another authentication context class.
  const weak = await leave(all, browser, overrides)
  t.equal(weak.request.searchParams.get('acr_values'), 'mfa')
  const unmet = departure(await comeBack(all, browser, provider.authorize(weak.request)))
  t.equal(unmet.searchParams.get('error'), 'unmet_authentication_requirements', 'RFC 9470 section 5')

  const strong = await leave(all, browser, overrides)
  provider.behavior = { claims: { acr: 'mfa' } }
  const consent = await comeBack(all, browser, provider.authorize(strong.request))
  const { tokens: better } = await finish(all, browser, strong.verifier, consent)
  t.equal((await all.call('/strong', better.accessToken)).status, 200)

  const again = await browser.visit(all.client.authorizeUrl('openid', 'x'.repeat(43), overrides))
  t.match(page(again).url, '/oauth/interaction/')
  t.notMatch(page(again).html, 'name="password"', 'the session has the class: consent only')

  const silent = { ...overrides, acr_values: 'phr', prompt: 'none' }
  const refused = departure(await browser.visit(all.client.authorizeUrl('openid', 'x'.repeat(43), silent)))
  t.equal(refused.searchParams.get('error'), 'login_required')
})
