import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { POLICY, startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'

const HOSTILE = '<script>alert(1)</script>'
const TESTS = `tests:
  - it: reads a course
    request: { method: GET, path: /api/courses/42 }
    token: { scope: "courses:read" }
    expect: { decision: allow, route: read-course }
  - it: ${HOSTILE}
    request: { method: GET, path: "/api/courses/42?view=full", headers: { x-school: '${HOSTILE}' } }
    token: { scope: "posts:read", sub: '${HOSTILE}' }
    expect: { decision: allow }
  - it: expects another route than the route of its request
    request: { method: GET, path: /api/courses }
    expect: { decision: allow, route: denied }
  - it: matches no route
    request: { method: GET, path: /api/cuorses }
    token: { scope: "courses:read" }
    expect: { decision: allow }
`

t.test('the page of a route shows its tests, and a failed test with its reason', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, { policy: POLICY + TESTS })
  const { managementUrl } = gateway
  const page = (name: string, more = '') => send(`${managementUrl}/console/route?name=test/${name}${more}`)
  const json = async (name: string) => (await page(name, '&format=json')).json['tests']

  t.match(await json('read-course'), {
    passed: 1,
    failed: 1,
    tests: [
      { it: HOSTILE, token: { scope: 'posts:read' }, expect: { decision: 'allow' }, place: /\.yaml:25:5$/ },
      { it: 'reads a course', request: { path: '/api/courses/42' }, place: /\.yaml:21:5$/, failure: null },
    ],
    example: null,
  })
  const { text } = await page('read-course')
  t.notMatch(text, HOSTILE)
  for (const expected of [
    /error\[T401\]: .*: the decision is deny, not allow/,
    /--&#62; \S+test\.policy\.yaml:28:25/,
    /got deny: 403 insufficient_scope/,
    '<div>needs all of: courses:read   token has: posts:read</div>',
    '>1 failed</span>, <span class="words">1 passed</span>',
  ])
    t.match(text, expected)

  t.match(await json('denied'), { passed: 0, failed: 1, tests: [{ failure: { text: /route differs/ } }] })
  const list = await send(`${managementUrl}/console/routes?format=json`)
  t.match(list.json, {
    tests: { passed: 1, failed: 3 },
    testsWithoutRoute: {
      failed: 1,
      tests: [{ it: 'matches no route', failure: { rules: [['route', '', /The nearest route: GET/]] } }],
    },
  })
  const { text: markup } = await send(`${managementUrl}/console/routes`)
  t.match(markup, 'Failed tests that match no route')
  t.match(markup, />1 failed<\/span>, <span class="words">1 passed</)
})

t.test('a page shows fewer tests if the tests are long', async (t) => {
  const test = `  - it: has long claims
    request: { method: GET, path: /api/courses }
    token: { scope: "courses:read", text: "${'x'.repeat(50_000)}" }
    expect: { decision: allow }
`
  const { gateway } = await startGatewayUnderTest(t, { policy: `${POLICY}tests:\n${test.repeat(5)}` })
  const { text } = await send(`${gateway.managementUrl}/console/route?name=test/list-courses`)
  t.match(text, '5 tests; 3 are shown, failed tests first.')
})

t.test('the console shows the results of the active policies', async (t) => {
  const { gateway } = await startGatewayUnderTest(t, { policy: POLICY + TESTS })
  const counts = async () => {
    const { json } = await send(`${gateway.managementUrl}/console/routes?format=json`)
    const route = await send(`${gateway.managementUrl}/console/route?name=test/read-course&format=json`)
    return [json['tests'], route.json['tests']] as const
  }
  const file = join(t.testdirName, 'test.policy.yaml')
  const before = [
    { passed: 1, failed: 3 },
    { failed: 1, passed: 1 },
  ] as const
  t.match(await counts(), before)
  writeFileSync(file, `${POLICY}${TESTS} {`)
  await gateway.reload('endpoint')
  t.match(await counts(), before, 'invalid policies on the disk')
  writeFileSync(file, POLICY + TESTS.replace('posts:read', 'courses:read'))
  await gateway.reload('endpoint')
  t.match(await counts(), [
    { passed: 2, failed: 2 },
    { failed: 0, passed: 2 },
  ])
})

t.test('the example for a route without tests is a test that passes', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const example = async (name: string) => {
    const { json } = await send(`${gateway.managementUrl}/console/route?name=test/${name}&format=json`)
    return json['tests'] as { readonly example: string; readonly passed: number }
  }
  const names = ['read-course', 'denied', 'either', 'open', 'change-course'] as const
  const examples = await Promise.all(names.map(async (name) => (await example(name)).example))
  t.match(
    examples[2],
    `tests:
  - it: allows a token with the scopes
    request: { method: GET, path: "/api/either" }
    token: { scope: "courses:read posts:read" }
    expect: { decision: allow, route: either }
`,
  )
  const entries = examples.map((text) => text.replace('tests:\n', '')).join('')
  writeFileSync(join(t.testdirName, 'test.policy.yaml'), `${POLICY}tests:\n${entries}`)
  await gateway.reload('endpoint')
  for (const name of names) t.match(await example(name), { passed: 1, failed: 0, example: null }, name)
})

t.test('a route whose callers need more than scopes has no example', async (t) => {
  const policy = POLICY.replace(
    'path: /api/denied }',
    'path: /api/denied }, when: [{ claim: role, equals: admin }]',
  )
  const { gateway } = await startGatewayUnderTest(t, { policy })
  const { json } = await send(`${gateway.managementUrl}/console/route?name=test/denied&format=json`)
  t.match(json['tests'], { passed: 0, failed: 0, tests: [], example: null })
  const page = await send(`${gateway.managementUrl}/console/route?name=test/denied`)
  t.match(page.text, 'No test in a policy file belongs to this route.')
})
