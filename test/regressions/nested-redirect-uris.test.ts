// Before the fix, the error message contained the redirect URI. A list with thousands of nested levels caused a stack
// overflow, and the client got 500.
import t from 'tap'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { send } from '../fixtures/send.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

const server = await startServer(t)
const DEPTH = 8_000 // about 16 KiB, the body limit of the endpoint

for (const [name, open, close] of [
  ['lists', '[', ']'],
  ['objects', '{"a":', '}'],
] as const)
  t.test(`${name} within ${name} in place of redirect URIs cause 400`, async (t) => {
    const depth = Math.floor(DEPTH / open.length)
    const nested = `${open.repeat(depth)}1${close.repeat(depth)}`
    const answer = await send(`${server.baseUrl}${ENDPOINTS.registration}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"redirect_uris":[${nested}]}`,
    })
    t.match(answer, { status: 400, json: { error: 'invalid_redirect_uri' } })
    t.match(answer.json['error_description'], /^redirect_uris\[0\] is not a string: /)
    t.match(answer.headers.get('content-type'), /^application\/json/)
    t.ok(answer.text.length < 500)
  })
