import fc from 'fast-check'
import t from 'tap'
import { generateRequest } from '../fixtures/generated-request.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { send } from '../fixtures/send.ts'
import { sendExactly } from '../fixtures/send-exactly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'

// Random requests must get a status below 500, without a stack trace. API clients must get JSON. The message of a
// failure contains the seed and the path with which fast-check repeats the run. FUZZ_RUNS sets the number of runs.
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 600)
const LIMIT_MS = 60_000 + RUNS * 50
const STACK = /\bat (?:\S+ \()?(?:file:|node:|\/)\S+:\d+:\d+/

const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const client = await registerClient(scopegate)
const asking = { browser: openBrowser(baseUrl), scope: 'openid courses:read courses:write' }
const { accessToken } = await client.obtainTokens(asking)
const { accessToken: spareToken } = await client.obtainTokens(asking)

t.test(`${RUNS} random requests get a status below 500`, { timeout: LIMIT_MS }, async (t) => {
  const BEARER = `Bearer ${accessToken}`
  const seen = new Map<number, number>()
  const request = generateRequest({ ...client, baseUrl, accessToken, spareToken })
  const property = fc.asyncProperty(request, async ({ method, path, query, headers, body }) => {
    const answer = await sendExactly(baseUrl, query === '' ? path : `${path}?${query}`, {
      method,
      headers: Object.entries(headers).flat(),
      body,
    })
    seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
    const type = answer.headers.get('content-type') ?? ''
    if (answer.status >= 500) throw new Error(`${answer.status} ${answer.text}`)
    // A gateway that rejects the valid token would keep the requests from the routes.
    if (answer.status === 401 && path.startsWith('/api/courses') && headers['authorization'] === BEARER)
      throw new Error(`the good token was rejected: ${answer.text}`)
    if (STACK.test(answer.text)) throw new Error(`a stack: ${answer.text}`)
    if (path.startsWith('/api/') && type.startsWith('text/html')) throw new Error('HTML below /api/')
    if (answer.status < 400 || method === 'HEAD' || !type.startsWith('application/json')) return
    const { error, error_description: description } = answer.json
    if (typeof error !== 'string' || typeof description !== 'string')
      throw new Error(`not an error body: ${answer.text}`)
  })
  await fc.assert(property, { numRuns: RUNS })
  t.comment(`statuses: ${JSON.stringify(Object.fromEntries(seen))}`)
  t.equal(
    (await send(`${baseUrl}/api/courses`, { token: accessToken })).status,
    200,
    'all services still serve requests',
  )
})
