// Before the fix, the rejection of a token did not name the expected audience. Keycloak, for example, issues tokens for
// the audience `account`.
import t from 'tap'
import { main } from '../../cli/main.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aPolicyFolder } from '../fixtures/a-policy-folder.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const under = await startGatewayUnderTest(t, {
  change: (config) => ({ ...config, resources: [{ path: '/pub/mcp', issuers: [BASE_URL] }] }),
})

/** Sends a token with this audience. Returns the response and the access log line. */
async function rejected(audience: unknown, path = '/api/courses') {
  const token = `token-for-${path}-${JSON.stringify(audience)?.length}-${count++}`
  under.issuer.store(token, { aud: audience, scope: 'courses:read' })
  const answer = await send(under.gateway.url + path, { token })
  const line = await lineOf(under, answer.headers.get('x-request-id'))
  return { answer, line }
}

let count = 0

async function lineOf({ logText }: GatewayUnderTest, requestId: string | null): Promise<string> {
  return until('the access line', async () =>
    logText()
      .split('\n')
      .find((line) => line.includes(`"request_id":"${requestId}"`)),
  )
}

t.test('the log names the expected and the actual audience', async (t) => {
  const rows = [
    ['account', '/api/courses', BASE_URL, ['account']],
    [['account', 'api://courses'], '/api/courses', BASE_URL, ['account', 'api://courses']],
    [BASE_URL, '/pub/mcp', `${BASE_URL}/pub/mcp`, [BASE_URL]],
    [undefined, '/api/courses', BASE_URL, []],
  ] as const
  for (const [audience, path, expected, actual] of rows) {
    const { answer, line } = await rejected(audience, path)
    t.equal(answer.status, 401)
    t.match(JSON.parse(line), {
      'auth.reason': 'wrong_audience',
      'auth.audience_expected': expected,
      'auth.audience': actual,
    })
  }
})

t.test(
  'the response names the resource that the client must request, not the audience of the token',
  async (t) => {
    for (const [path, resource] of [
      ['/api/courses', BASE_URL],
      ['/pub/mcp', `${BASE_URL}/pub/mcp`],
    ] as const) {
      const { answer } = await rejected('secret-audience', path)
      t.match(answer, { status: 401, json: { error: 'invalid_token' } })
      t.match(String(answer.json['error_description']), new RegExp(`for the resource ${resource}\\.$`))
      t.match(answer.headers.get('www-authenticate'), `for the resource ${resource}."`)
      t.notMatch(answer.text + answer.headers.get('www-authenticate'), 'secret-audience')
    }
  },
)

t.test('a hostile audience cannot enlarge, split or disguise a log line', async (t) => {
  const hostile: readonly unknown[] = [
    'x'.repeat(50_000),
    Array.from({ length: 5_000 }, (_, index) => `a${index}`),
    Array.from({ length: 60 }, () => '\u202e'.repeat(300)),
    '"}\n{"event":"access","request_id":"forged"}',
    '\u0000\u001b[2J\u007f\u009b31m\u2028\u2029\ud800\ufeff',
    ['__proto__', 7, null, { toString: 'x' }, ['nested']],
  ]
  for (const audience of hostile) {
    const { line } = await rejected(audience)
    const parsed = JSON.parse(line)
    t.ok(line.length < 8_192, `${line.length} characters`)
    t.ok(parsed['auth.audience'].length <= 6)
    t.notMatch(line, /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u)
  }
  const { line } = await rejected(Array.from({ length: 5_000 }, (_, index) => `a${index}`))
  t.same(JSON.parse(line)['auth.audience'], ['a0', 'a1', 'a2', 'a3', 'a4', '(4995 more)'])
  t.notOk(under.log().some((entry) => entry['request_id'] === 'forged'))
})

t.test('access lines of other outcomes contain no audience', async (t) => {
  under.issuer.store('good', { scope: 'courses:read' })
  for (const token of ['good', 'unknown', undefined]) {
    const answer = await send(`${under.gateway.url}/api/courses`, { token })
    t.notMatch(await lineOf(under, answer.headers.get('x-request-id')), 'auth.audience')
  }
})

t.test('explain names the expected and the actual audience', async (t) => {
  const folder = aPolicyFolder(t, {
    'a.policy.yaml': `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: learning-platform
routes:
  - { name: open, match: { methods: [GET], path: /a }, anonymous: allow }
`,
  })
  const explain = async (...args: readonly string[]) => {
    const terminal = aTerminal({ folder })
    const code = await main(['explain', 'GET', '/a', ...args], terminal)
    return { code, out: terminal.said.out }
  }
  const text = await explain('--claim', 'aud=account')
  t.equal(text.code, 1)
  t.match(text.out, /DENY +wrong_audience .* audience account {2}expected http:\/\//)
  t.match(text.out, /for the resource http:\/\/\S+\.\n/)
  const json = JSON.parse((await explain('--claim', 'aud=account', '--json')).out)
  t.match(json.token, { fault: 'wrong_audience', audience: ['account'] })
  t.equal(json.resource.startsWith('http://'), true)

  const many = JSON.stringify(Array.from({ length: 3_000 }, (_, index) => `a${index}`))
  const bounded = await explain('--claim', `aud=${many}`)
  t.match(bounded.out, /audience a0 a1 a2 a3 a4 \(2995 more\)/)
  t.ok(bounded.out.length < 4_096)
  t.match(JSON.parse((await explain('--json')).out).token, null)
})
