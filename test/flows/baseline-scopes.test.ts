import { auth, extractWWWAuthenticateParams, type OAuthTokens } from '@modelcontextprotocol/client'
import t from 'tap'
import { createInMemoryProvider } from '../../examples/clients/in-memory-provider.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// Some clients request every scope in the metadata of the resource, for example the `auth()` function of the MCP SDK.
const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const COURSE = {
  title: 'Scopes',
  slug: 'scopes',
  summary: 'One at a time.',
  level: 'beginner',
  price_cents: 0,
}

t.test('a client gets the read scopes, then 403 insufficient_scope on a write, then steps up', async (t) => {
  let tokens: OAuthTokens | undefined
  let page: URL | undefined
  const provider = createInMemoryProvider({
    clientName: 'A client without configuration',
    redirectUrl: 'http://127.0.0.1:49152/callback',
    sendTo: (to) => {
      page = to
    },
    onTokens: (issued) => {
      tokens = issued
      scopegate.secret(issued.access_token)
      scopegate.secret(issued.refresh_token)
    },
    onVerifier: scopegate.secret,
  })
  async function authorize(
    options: { readonly scope?: string; readonly forceReauthorization?: boolean } = {},
  ) {
    t.equal(await auth(provider, { serverUrl: baseUrl, ...options }), 'REDIRECT')
    const location = await signIn(openBrowser(baseUrl), page as URL)
    const { code, iss } = Object.fromEntries(location.searchParams)
    scopegate.secret(code)
    t.equal(
      await auth(provider, { serverUrl: baseUrl, authorizationCode: code ?? '', iss: iss ?? '' }),
      'AUTHORIZED',
    )
    return new Set(page?.searchParams.get('scope')?.split(' '))
  }
  const create = () => send(`${baseUrl}/api/courses`, { json: COURSE, token: tokens?.access_token })

  const baseline = await authorize()
  t.ok(baseline.has('courses:read'))
  t.same(
    [...baseline].filter((scope) => !scope.endsWith(':read')),
    [],
    'no write scope before it is required',
  )
  const read = await send(`${baseUrl}/api/courses`, { token: tokens?.access_token })
  t.equal(read.status, 200)

  const denied = await create()
  t.equal(denied.status, 403)
  t.match(denied.json, { error: 'insufficient_scope', scope: 'courses:write' })
  const challenge = extractWWWAuthenticateParams(new Response(null, { headers: denied.headers }))
  t.match(challenge, { error: 'insufficient_scope', scope: 'courses:write' })

  const scope = [...baseline, challenge.scope].join(' ')
  const requested = await authorize({ scope, forceReauthorization: true })
  t.same([...requested].toSorted(), [...baseline, 'courses:write'].toSorted())
  const created = await create()
  t.equal(created.status, 201)
  t.match(created.json, COURSE)
})

t.test('the metadata of the authorization server lists all scopes', async (t) => {
  const { json } = await send(`${baseUrl}/.well-known/oauth-authorization-server`)
  const scopes = json['scopes_supported'] as readonly string[]
  t.equal(scopes.filter((scope) => scope !== 'offline_access').length, 38)
  t.ok(scopes.includes('courses:write'))
})
