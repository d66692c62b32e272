import t from 'tap'
import { POLICY, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'
import { sendBytes } from '../../fixtures/send-bytes.ts'

t.test(
  'the management port reloads policies for programs, and rejects reload requests of web pages',
  async (t) => {
    const { gateway, log } = await startGatewayUnderTest(t)
    const url = gateway.managementUrl
    const reload = `${url}/reload`
    const reloads = (): number => log().filter(({ event }) => String(event).startsWith('policy_un')).length

    for (const headers of [
      { origin: 'http://evil.test' },
      { origin: 'null' },
      { origin: url },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'same-origin' },
    ]) {
      const answer = await send(reload, { method: 'POST', headers })
      t.equal(answer.status, 403, JSON.stringify(headers))
      t.equal(answer.json['error'], 'access_denied')
    }
    const foreign = await sendBytes(
      url,
      'POST /reload HTTP/1.1\r\nhost: evil.test\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
    )
    t.same(foreign.statuses, [421])
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await send(reload, { method })
      t.equal(answer.status, 405, method)
      t.equal(answer.headers.get('allow'), 'POST')
    }
    t.equal((await send(reload, { body: 'x'.repeat(1_025) })).status, 413)
    t.equal(reloads(), 0, 'no rejected request caused a reload')

    for (const message of [
      { method: 'POST' },
      { method: 'POST', headers: { 'sec-fetch-site': 'none' } },
      { body: 'not { json', headers: { 'content-type': 'application/json' } },
      { form: { a: '1' } },
    ]) {
      const answer = await send(reload, message)
      t.equal(answer.status, 200, JSON.stringify(message))
      t.match(answer.json, { result: 'unchanged', routes: 12, diagnostics: [] })
      t.equal(answer.headers.get('cache-control'), 'no-store')
    }
    t.equal(reloads(), 4)

    const answers = await Promise.all(Array.from({ length: 50 }, () => send(reload, { method: 'POST' })))
    t.ok(answers.every(({ status }) => status === 200))
    t.ok(reloads() < 4 + 50, 'requests during a reload share the next one')
    t.same((await send(`${url}/nothing`)).json['error'], 'not_found')
  },
)

t.test('/policies shows the active policies, and the schema is available to editors', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, { policy: POLICY })
  const url = gateway.managementUrl
  const policies = await send(`${url}/policies`)
  t.equal(policies.status, 200)
  t.equal(policies.headers.get('content-type'), 'application/json; charset=utf-8')
  t.match(policies.json, {
    hash: /^[0-9a-f]{64}$/,
    routes: [{ name: 'test/list-courses', scopes: { all: ['courses:read'], any: [] }, upstream: 'api' }],
    implication: {},
    resources: { baseUrl: 'http://api.test', issuers: ['http://api.test'], bundledAuthorizationServer: true },
  })
  t.notMatch(policies.text, /127\.0\.0\.1|secret/i, 'no upstream URL, no secret')
  const rejected = await send(`${url}/policies`, { method: 'POST' })
  t.equal(rejected.status, 405)
  t.equal(rejected.headers.get('allow'), 'GET, HEAD')
  const schema = await send(`${url}/schemas/policy.v1.json`)
  t.equal(schema.status, 200)
  t.match(schema.headers.get('content-type'), /^application\/schema\+json/)
  t.match(schema.json, { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Scopegate Policy' })
})
