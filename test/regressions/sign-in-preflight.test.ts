// Before the fix, the gateway responded to preflights for the authorization endpoint and the sign-in pages, and
// permitted requests from every origin.
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { sendExactly } from '../fixtures/send-exactly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

const scopegate = await startScopegate(t)
const preflight = (path: string) =>
  sendExactly(scopegate.baseUrl, path, {
    method: 'OPTIONS',
    headers: ['origin', 'https://elsewhere.example', 'access-control-request-method', 'POST'],
  })

for (const path of [
  ENDPOINTS.authorization,
  `${ENDPOINTS.authorization}/some-uid`,
  `${ENDPOINTS.interaction}/some-uid`,
  `${ENDPOINTS.interaction}/some-uid/sign-in`,
  `${ENDPOINTS.interaction}/some-uid/consent`,
])
  t.test(`a preflight for ${path} allows no other origin`, async (t) => {
    const answer = await preflight(path)
    t.ok([404, 405].includes(answer.status), `${answer.status}`)
    t.match(answer.headers.get('content-type'), /^application\/json/)
    for (const name of answer.headers.keys()) t.notMatch(name, /^access-control-/)
  })

t.test('a preflight for the token endpoint gets a response', async (t) => {
  const answer = await preflight(ENDPOINTS.token)
  t.equal(answer.status, 204)
  t.equal(answer.headers.get('access-control-allow-origin'), '*')
  t.match(answer.headers.get('access-control-allow-methods'), /POST/)
  t.notOk(answer.headers.has('access-control-allow-credentials'))
})
