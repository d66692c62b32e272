import t from 'tap'
import { openBrowser } from '../../fixtures/open-browser.ts'
import { knownClient, makePkce } from '../../fixtures/register-client.ts'
import { answerPage } from '../../fixtures/sign-in.ts'
import { startServer } from '../../fixtures/start-authorization-server.ts'

const redirectUris = ['https://web.example.com/a']
const integration = { clientName: 'Web app', redirectUris, clientSecretFile: undefined }
const server = await startServer(t, {
  integrations: [
    { ...integration, clientId: 'own', trusted: true },
    { ...integration, clientId: 'other', trusted: false },
  ],
})
const client = (clientId: string) =>
  knownClient(server, { clientId, clientSecret: undefined, redirectUri: 'https://web.example.com/a' })
const SCOPE = 'openid courses:read courses:write coupons:write pages:write school:write'

t.test(
  'a trusted integration gets all requested scopes after the sign-in, without a consent page',
  async (t) => {
    const browser = openBrowser(server.baseUrl)
    const { verifier, challenge } = makePkce()
    const page = await browser.visit(client('own').authorizeUrl(SCOPE, challenge))
    if (page.left) throw new Error('a person must sign in')
    const left = await answerPage(browser, page)
    if (!left.left) throw new Error('the server shows a consent page')
    const code = left.location.searchParams.get('code') ?? ''
    server.secret(code)
    const answer = await client('own').exchange({ code, verifier })
    t.equal(answer.json['scope'] ?? SCOPE, SCOPE)
    client('own').readTokens(answer)
    const given = server.log().filter(({ action }) => action === 'consent_given')
    t.match(given, [{ client_id: 'own', scopes: SCOPE.split(' '), reason: 'trusted', request_id: /./ }])

    const silent = await browser.visit(client('own').authorizeUrl('openid', challenge, { prompt: 'none' }))
    t.ok(silent.left && silent.location.searchParams.has('code'), 'prompt=none')
    const asked = await browser.visit(client('own').authorizeUrl('openid', challenge, { prompt: 'consent' }))
    t.match(asked.left ? '' : asked.html, /wants to use your account/, 'prompt=consent')
    const other = await browser.visit(client('other').authorizeUrl('openid', challenge))
    t.match(other.left ? '' : other.html, /wants to use your account/, 'another integration')
    const none = await browser.visit(client('other').authorizeUrl('openid', challenge, { prompt: 'none' }))
    t.equal(none.left && none.location.searchParams.get('error'), 'consent_required')
  },
)
