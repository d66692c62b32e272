import Fastify from 'fastify'
import t from 'tap'
import { registerLogoutPages } from '../../../authorization-server/account-pages/logout-pages.ts'
import { StoreError } from '../../../authorization-server/store/store.ts'
import { ENDPOINTS } from '../../../oauth/endpoints.ts'
import { send } from '../../fixtures/send.ts'

t.test('sends a page when the store fails during a logout request', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const read = () => Promise.reject(new StoreError('ERR_STORE_UNAVAILABLE', 'away'))
  registerLogoutPages(app, {
    sessions: { read, end: read },
    readIdToken: async () => undefined,
    integrations: [],
    serviceName: 'Learning platform',
    origin: 'https://login.test',
    secureCookies: true,
    cookieKeys: () => ['a key of the cookies of this test'],
    onEvent: () => undefined,
    logger: { error: () => undefined },
  })
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 })
  const answer = await send(baseUrl + ENDPOINTS.endSession)
  t.equal(answer.status, 503)
  t.match(answer.headers.get('content-type'), 'text/html')
  t.match(answer.text, 'Sign-in does not work right now')
})
