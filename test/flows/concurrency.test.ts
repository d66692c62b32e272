import t from 'tap'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

const PARALLEL = 100

const scopegate = await startScopegate(t)
const client = await registerClient(scopegate)
const browser = openBrowser(scopegate.baseUrl)

t.test(
  `${PARALLEL} concurrent exchanges of one code: one succeeds, the others get invalid_grant`,
  async (t) => {
    const grant = await client.obtainCode({ browser, scope: 'courses:read' })
    const answers = await Promise.all(Array.from({ length: PARALLEL }, () => client.exchange(grant)))

    const [winner, ...others] = answers.toSorted((one, other) => one.status - other.status)
    t.equal(winner?.status, 200)
    t.equal(others.length, PARALLEL - 1)
    t.same(
      new Set(others.map(({ status, json }) => `${status} ${json['error']}`)),
      new Set(['400 invalid_grant']),
    )

    // RFC 6749 section 4.1.2: if a client uses a code twice, the server revokes its tokens.
    if (winner === undefined) return
    const { accessToken } = client.readTokens(winner)
    await until('the gateway rejects the token of the replayed code', async () => {
      const { status } = await send(`${scopegate.baseUrl}/api/courses`, { token: accessToken })
      return status === 401
    })
  },
)

t.test(`${PARALLEL} concurrent uses of one refresh token get the same response`, async (t) => {
  const { refreshToken } = await client.obtainTokens({ browser, scope: 'courses:read' })
  const answers = await Promise.all(Array.from({ length: PARALLEL }, () => client.refresh(refreshToken)))

  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  for (const answer of answers.slice(0, 1)) client.readTokens(answer)
})
