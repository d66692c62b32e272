// Two tabs of one browser showed the sign-in page. One user signed in in the second tab, and then another user in the
// first tab. Before the fix, the engine then sent its own page, without the headers of this server. The address in the
// form of this page did not exist.
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser, type Page } from '../fixtures/open-browser.ts'
import { makePkce, registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { answerPage, findButton } from '../fixtures/sign-in.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

t.test(
  'the last sign-in owns the browser session, and the other tab reports that its sign-in has ended',
  async (t) => {
    const server = await startServer(t)
    const client = await registerClient(server)
    const browser = openBrowser(server.baseUrl)
    const { verifier, challenge } = makePkce()
    const open = (state: string) =>
      browser.visit(client.authorizeUrl('openid profile', challenge, { state })) as Promise<Page>
    const first = await open('first')
    const second = await open('second')
    const bobs = (await answerPage(browser, second, { username: 'bob' })) as Page
    t.match(bobs.html, /Bob Example/)

    const alices = (await answerPage(browser, first, { username: 'alice' })) as Page
    t.match(alices.html, /Alice Example/)
    t.notMatch(alices.html, /Bob Example/)
    t.match(alices.headers.get('content-security-policy'), /frame-ancestors 'none'/)

    const { form, button } = findButton(bobs, /\/consent$/)
    const over = await browser.submit(form, {}, button)
    t.match(over, { left: false, status: 400, html: /This page is no longer valid/ })

    const departure = await answerPage(browser, alices)
    if (!departure.left) throw new Error('the browser did not leave')
    t.equal(departure.location.searchParams.get('state'), 'first')
    const code = departure.location.searchParams.get('code') ?? ''
    const { accessToken } = client.readTokens(await client.exchange({ code, verifier }))
    const who = await send(`${server.baseUrl}${ENDPOINTS.userinfo}`, { token: accessToken })
    t.equal(who.json['preferred_username'], 'alice')
  },
)
