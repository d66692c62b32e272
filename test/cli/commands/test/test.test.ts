import t from 'tap'
import { main } from '../../../../cli/main.ts'
import { aPolicyFolder } from '../../../fixtures/a-policy-folder.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: courses
owner: team-learning
upstream: learning-platform

routes:
  - name: list
    match: { methods: [GET], path: /api/courses }
    scopes: { all: [courses:read] }

  - name: change
    match: { methods: [PATCH], path: "/api/courses/{id}" }
    anonymous: challenge
    scopes: { all: [courses:write] }
    rewrite: { path: "/internal/courses/{id}" }

tests:
`

async function run(t: Tap, policies: Readonly<Record<string, string>>, ...args: string[]) {
  const folder = aPolicyFolder(t, policies)
  const terminal = aTerminal({ folder })
  const code = await main(['test', ...args], terminal)
  return { code, ...terminal.said, out: terminal.said.out.replaceAll(/[^\s"]*\/(?=policies\/)/g, ''), folder }
}
type Tap = Parameters<typeof aPolicyFolder>[0]

const withTest = (text: string) => ({
  'courses.policy.yaml': `${POLICY}  - it: tries\n${text.replace(/^(?=.)/gm, '    ')}`,
})

t.test('test shows each unexpected decision with its location and reasons, and exits with 4', async (t) => {
  const { code, out, err } = await run(
    t,
    withTest(
      'request: { method: PATCH, path: /api/courses/42 }\ntoken: { scope: "courses:read" }\nexpect: { decision: allow, route: change }\n',
    ),
  )
  t.equal(code, 4)
  t.equal(err, '')
  t.equal(
    out,
    `error[T401]: "tries": the decision is deny, not allow
   --> policies/courses.policy.yaml:22:25
   |
22 |     expect: { decision: allow, route: change }
   |                         ^^^^^ got deny: 403 insufficient_scope
   ::: policies/courses.policy.yaml:12:5
   = the request matches courses/change

    route     courses/change                  policies/courses.policy.yaml:12:5   (owner team-learning)
    token     ok    client some-client  subject someone  expires in 5m  audience http://127.0.0.1:8080
    scopes    DENY  needs all of: courses:write   token has: courses:read
    anonymous n/a   a token was sent

1 of 1 test of 1 policy failed
`,
  )
})

t.test('test reports each different part of an expectation with its own code', async (t) => {
  const patch = 'request: { method: PATCH, path: /api/courses/42 }\n'
  const good = 'token: { scope: "courses:write" }\n'
  for (const [text, code, hint] of [
    [`${patch}${good}expect: { decision: allow, as: anonymous }\n`, 'T402', 'got "token"'],
    [`${patch}expect: { decision: challenge, status: 403 }\n`, 'T403', 'got 401'],
    [`${patch}expect: { decision: challenge, error: invalid_token }\n`, 'T403', 'got "unauthorized"'],
    [`${patch}token: {}\nexpect: { decision: deny, missing: [] }\n`, 'T403', 'got ["courses:write"]'],
    [`${patch}${good}expect: { decision: allow, route: list }\n`, 'T404', 'got "courses/change"'],
    [
      `${patch}${good}expect: { decision: allow, upstreamPath: /api/courses/42 }\n`,
      'T405',
      'got "/internal/courses/42"',
    ],
    [
      `${patch}token: { scope: 4 }\nexpect: { decision: deny }\n`,
      'T406',
      '"scope" does not follow RFC 6749 section 3.3',
    ],
  ] as const) {
    const { code: exit, out } = await run(t, withTest(text))
    t.equal(exit, 4, out)
    t.match(out, new RegExp(`^error\\[${code}\\]: "tries": `), text)
    t.match(out, `^ ${hint}`.replace('^', '^'), text)
    t.equal(out.match(/^error/gm)?.length, 1, out)
  }
})

t.test('test explains a token whose audience is not text', async (t) => {
  const patch = 'request: { method: PATCH, path: /api/courses/42 }\n'
  for (const [aud, audience] of [
    ['{}', '{}'],
    ['[7, { of: x }]', '7 {"of":"x"}'],
    ['null', '(absent)'],
  ] as const) {
    const { code, out } = await run(
      t,
      withTest(`${patch}token: { aud: ${aud} }\nexpect: { decision: allow }\n`),
    )
    t.equal(code, 4, out)
    t.match(out, `  audience ${audience}`)
  }
})

t.test('test treats a token as valid unless its claims make it invalid', async (t) => {
  const patch = 'request: { method: PATCH, path: /api/courses/42 }\n'
  for (const token of [
    'exp: 1',
    'aud: "https://other.test"',
    'iss: "https://other.test"',
    'exp: null',
    'nbf: 99999999999',
    'cnf: { jkt: x }',
  ])
    t.equal(
      (
        await run(
          t,
          withTest(
            `${patch}token: { scope: "courses:write", ${token} }\nexpect: { decision: deny, status: 401, error: invalid_token }\n`,
          ),
        )
      ).code,
      0,
      token,
    )
  for (const token of [
    'sub: null',
    'client_id: null',
    'aud: ["http://127.0.0.1:8080"]',
    'scope: [courses:write]',
  ])
    t.equal(
      (
        await run(
          t,
          withTest(
            `${patch}token: { scope: "courses:write", ${token} }\nexpect: { decision: allow }\n`.replace(
              'scope: "courses:write", scope',
              'scope',
            ),
          ),
        )
      ).code,
      0,
      token,
    )
})

const TESTED = `${POLICY}  - it: reads with the scope
    request: { method: GET, path: /api/courses }
    token: { scope: "courses:read" }
    expect: { decision: allow, as: token }
  - it: asks for a token
    request: { method: PATCH, path: /api/courses/1 }
    expect: { decision: challenge }
`
const BESIDE = `apiVersion: scopegate/v1
kind: PolicyTest
policy: courses
tests:
  - it: denies a token without the scope
    request: { method: GET, path: /api/courses }
    token: {}
    expect: { decision: deny, missing: [courses:read] }
`

t.test('test --coverage shows the outcomes of each route that no test reaches', async (t) => {
  const { code, out } = await run(
    t,
    { 'courses.policy.yaml': TESTED, 'courses_test.yaml': BESIDE },
    '--coverage',
  )
  t.equal(code, 0)
  t.equal(
    out,
    `ok: 3 tests of 1 policy
  courses/list    allow ✓  deny ✓  anonymous –
  courses/change  allow –  deny –  anonymous ✓
3 of 6 outcomes are tested
`,
  )
  const json = JSON.parse((await run(t, { 'courses.policy.yaml': TESTED }, '--coverage', '--json')).out)
  t.match(json, {
    passed: 2,
    failed: 0,
    tests: [
      {
        policy: 'courses',
        it: 'reads with the scope',
        passed: true,
        decision: 'allow',
        route: 'courses/list',
        failures: [],
      },
      {},
    ],
    coverage: [{ route: 'courses/list', outcomes: { allow: true, deny: false, anonymous: false } }, {}],
  })
})

t.test('test selects tests by text or by file, and reports an empty selection', async (t) => {
  const policies = { 'courses.policy.yaml': TESTED, 'courses_test.yaml': BESIDE }
  t.match(await run(t, policies, '--filter', 'ASKS'), { code: 0, out: 'ok: 1 test of 1 policy\n' })
  const none = await run(t, policies, '--filter', 'nothing of the kind')
  t.equal(none.code, 2)
  t.match(none.err, /^scopegate: no test has "nothing of the kind"/)
  t.match(await run(t, policies, 'policies/courses_test.yaml'), { code: 0, out: 'ok: 1 test of 1 policy\n' })
  t.match(await run(t, policies, 'policies'), { code: 0, out: 'ok: 3 tests of 1 policy\n' })
  for (const path of ['policies/none.yaml', 'elsewhere'])
    t.equal((await run(t, policies, path)).code, 2, path)
})

t.test('test runs no tests when a policy is invalid, and reports the errors', async (t) => {
  const { code, out, err } = await run(t, {
    'courses.policy.yaml': TESTED.replace('courses:read]', 'course:read]'),
  })
  t.equal(code, 3)
  t.equal(out, '')
  t.match(err, /^error\[P201\]: scope "course:read"/)
})

t.test('a test can state the mode of its request', async (t) => {
  const request = (mode: string) => `request: { method: PATCH, path: /api/courses/42, mode: ${mode} }\n`
  const token = 'token: { scope: "courses:write" }\n'
  const moved = await run(
    t,
    withTest(`${request('decision')}${token}expect: { decision: deny, status: 404, route: change }\n`),
  )
  t.equal(moved.code, 0, moved.out)
  const proxied = await run(
    t,
    withTest(`${request('proxy')}${token}expect: { decision: allow, route: change }\n`),
  )
  t.equal(proxied.code, 0, proxied.out)
  const wrong = await run(t, withTest(`${request('decision')}${token}expect: { decision: allow }\n`))
  t.equal(wrong.code, 4)
  t.match(wrong.out, /mode +DENY +decision: only the proxy serves this route/)
})

t.test('test and check follow docs.enabled, as the gateway does', async (t) => {
  const tests = withTest('request: { method: GET, path: /docs }\nexpect: { decision: deny, status: 404 }\n')
  const folder = aPolicyFolder(t, tests)
  for (const command of ['test', 'check']) {
    const codes = []
    for (const enabled of ['true', 'false']) {
      const terminal = aTerminal({ folder, env: { SCOPEGATE_DOCS__ENABLED: enabled } })
      codes.push(await main([command], terminal))
    }
    t.not(codes[0], 0, `${command}: the gateway serves a page`)
    t.equal(codes[1], 0, `${command}: no page`)
  }
})
