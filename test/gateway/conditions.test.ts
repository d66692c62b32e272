import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge }
routes:
  - name: change
    match: { methods: [PATCH, GET], path: "/schools/{school}/courses" }
    scopes: { all: [courses:write] }
    when:
      - { claim: school_id, equals: "{path.school}" }
      - { claim: /realm_access/roles, in: [editor, owner] }
  - name: by-header
    match: { methods: [GET], path: /mine }
    when: [{ claim: school_id, equals: "{header.x-school-id}" }]
  - { name: plain, match: { methods: [GET], path: /plain } }
  - { name: tools, match: { methods: [POST], path: /mcp } }
  - name: delete-tool
    match: { methods: [POST], path: /mcp, headers: { mcp-method: tools/call, mcp-name: delete_course } }
    scopes: { all: [courses:write] }
`

t.test('a gateway applies conditions and header matches', async (t) => {
  let dir = ''
  const under = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => {
      dir = config.policiesDir
      return config
    },
  })
  const { gateway, issuer, upstream } = under
  const editor = issuer.store('editor', {
    scope: 'courses:write',
    school_id: 's 1',
    realm_access: { roles: ['editor'] },
  })
  const call = async (path: string, message: Parameters<typeof send>[1] = {}) =>
    await send(`${gateway.url}${path}`, { token: editor, ...message })
  const lastLine = async (status: number) => {
    await until(
      'the request is logged',
      async () => under.log().at(-1)?.['http.response.status_code'] === status,
    )
    return under.log().at(-1)
  }

  await t.test('a failed condition gets 403 access_denied without a challenge or a detail', async (t) => {
    const answer = await call('/schools/s2/courses')
    t.equal(answer.status, 403)
    t.equal(answer.headers.get('www-authenticate'), null)
    t.equal(answer.json['error'], 'access_denied')
    t.notMatch(answer.text, /school|s2|s 1|role/)
    t.match(await lastLine(403), {
      'auth.decision': 'deny',
      'auth.reason': 'condition',
      'auth.condition': 'school_id equals {path.school}',
      'error.type': 'condition_failed',
    })
    const reader = issuer.store('role-less', { scope: 'courses:write', school_id: 's 1' })
    t.equal((await call('/schools/s%201/courses', { token: reader })).status, 403)
    t.equal(upstream.requests.length, 0)
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    t.match(
      metrics,
      /scopegate_auth_decisions_total\{route="test\/change",decision="deny",reason="condition"\} 2/,
    )
  })

  await t.test(
    'a missing scope is reported before a failed condition, because the client can request a scope',
    async (t) => {
      const poor = issuer.store('poor', { scope: '', school_id: 'other' })
      const answer = await call('/schools/s1/courses', { token: poor })
      t.equal(answer.json['error'], 'insufficient_scope')
      t.match(answer.headers.get('www-authenticate'), /scope="courses:write"/)
      const anonymous = await send(`${gateway.url}/schools/s1/courses`)
      t.equal(anonymous.status, 401)
    },
  )

  await t.test('conditions compare the decoded values of path, claims and headers', async (t) => {
    t.equal((await call('/schools/s%201/courses')).status, 200)
    t.equal((await call('/schools/s%2501/courses')).status, 403)
    t.equal((await call('/schools/s%2F1/courses')).status, 400)
    t.equal((await call('/mine', { headers: { 'x-school-id': 's 1' } })).status, 200)
    t.equal((await call('/mine')).status, 403)
    const head =
      'GET /mine HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\nauthorization: Bearer editor\r\n'
    for (const [headers, status] of [
      ['X-School-Id: s 1', 200],
      ['X-School-Id: s 1\r\nx-school-id: s2', 403],
      ['X-School-Id: s 1\r\nx_school_id: s2', 403],
      ['X-School-Id: s 1\r\nconnection: x-school-id', 403],
    ] as const)
      t.match(await under.raw(`${head}${headers}\r\n\r\n`), new RegExp(`^HTTP/1.1 ${status} `), headers)
  })

  await t.test('a tool requires its own scope in every spelling of the request', async (t) => {
    const version = { 'mcp-protocol-version': '2026-07-28' }
    const nobody = issuer.store('nobody', { scope: '' })
    const tool = async (headers: Record<string, string>) =>
      (await call('/mcp', { method: 'POST', token: nobody, headers })).status
    const strict = { 'mcp-method': 'tools/call', 'mcp-name': 'delete_course' }
    t.equal(await tool({ ...version, ...strict }), 403)
    t.equal(await tool({ ...version, ...strict, 'mcp-name': `=?base64?${btoa('delete_course')}?=` }), 403)
    t.equal(await tool(strict), 404)
    t.equal(await tool({ ...version, ...strict, mcp_name: 'list_courses' }), 404)
    t.equal(await tool({ ...version, 'mcp-method': 'tools/list' }), 200)
    t.equal(await tool({}), 200)
  })

  await t.test(
    'a cached token that lacks a claim is introspected again when a policy needs the claim',
    async (t) => {
      const token = issuer.store('late', { tenant: 't1' })
      t.equal((await call('/plain', { token })).status, 200)
      const asked = issuer.asked.length
      writeFileSync(
        join(dir, 'test.policy.yaml'),
        POLICY.replace('path: /plain }', 'path: /plain }, when: [{ claim: tenant, equals: t1 }]'),
      )
      t.match(await gateway.reload('signal'), { result: 'applied' })
      t.equal((await call('/plain', { token })).status, 200)
      t.equal(issuer.asked.length, asked + 1)
      t.equal((await call('/plain', { token })).status, 200)
      t.equal((await call('/plain')).status, 403)
      t.equal(issuer.asked.length, asked + 2, 'once for each token')
    },
  )
})
