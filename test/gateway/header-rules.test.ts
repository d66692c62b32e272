import fc from 'fast-check'
import t from 'tap'
import { compileHeaderEdit, editHeaders } from '../../policy-engine/decide/header-edit.ts'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { send } from '../fixtures/send.ts'

const HEAD = 'apiVersion: scopegate/v1\nkind: Policy\nname: a\nupstream: api\n'

function problems(headers: string, defaults = false) {
  const route = `  - name: r\n    match: { methods: [GET], path: /a }\n${defaults ? '' : `    headers: ${headers}\n`}    anonymous: deny\n`
  const text = `${HEAD}${defaults ? `defaults:\n  headers: ${headers}\n` : ''}routes:\n${route}`
  const { diagnostics } = loadPolicies({ dir: t.testdir({ 'a.policy.yaml': text }) })
  return diagnostics.map(
    ({ code, location, message }) => `${code} ${location.line}:${location.column} ${message}`,
  )
}

t.test('loadPolicies() rejects changes of headers that the gateway manages', async (t) => {
  for (const name of [
    'Authorization',
    'Cookie',
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'Connection',
    'Upgrade',
    'TE',
    'X-Auth-Subject',
    'X-Auth-Anything',
    'X-Forwarded-For',
    'Forwarded',
    'X-Real-IP',
    'X-Request-Id',
    'X-Scopegate-Error',
    'DPoP',
    'DPoP-Nonce',
    'Access-Control-Allow-Origin',
    'RateLimit',
    'RateLimit-Policy',
    'WWW-Authenticate',
    'Sec-WebSocket-Key',
    'X-HTTP-Method-Override',
  ]) {
    t.match(problems(`{ request: { set: { ${name}: x } } }`), [/^P312 8:34 /], name)
    t.match(problems(`{ response: { add: { ${name}: x } } }`), [/^P312 8:35 /], name)
    t.match(problems(`{ response: { remove: [${name}] } }`), [/^P312 8:37 /], name)
    t.match(problems(`{ request: { remove: [${name}] } }`, true), [/^P312 6:34 /], `${name} by default`)
  }
})

t.test('loadPolicies() rejects invalid header changes', async (t) => {
  t.match(problems('{}'), [/^P106 /])
  t.match(problems('{ request: {} }'), [/^P106 /])
  t.match(problems('{ request: { set: { x_a: b } } }'), [/^P105 /])
  t.match(problems('{ request: { set: { "x-a\\r\\nb": c } } }'), [/^P105 /])
  t.match(problems('{ request: { set: { x-a: "b\\r\\nx-auth-subject: root" } } }'), [/^P105 /])
  t.match(problems('{ request: { remove: ["x-a: b"] } }'), [/^P105 /])
  t.match(problems('{ requests: { remove: [x-a] } }'), [/^P101 /])
  t.match(problems('{ request: { set: { x-a: b }, remove: [X-A] } }'), [
    /^P313 8:53 x-a is in set and in remove/,
  ])
  t.match(problems('{ request: { add: { x-a: b, X-A: c } } }'), [/^P313 8:42 x-a is in add twice/])
  t.strictSame(problems('{ request: { set: { x-a: b } }, response: { set: { x-a: c } } }'), [])
})

const POLICY = `${HEAD.replace('name: a', 'name: test')}
defaults:
  headers: { response: { set: { cache-control: no-store } } }
routes:
  - name: changed
    match: { methods: [GET], path: /changed }
    headers:
      request: { set: { x-plan: gold }, add: { x-tag: ours }, remove: [X-Secret] }
      response: { set: { Server: api }, add: { vary: x-plan }, remove: [X-Powered-By] }
  - { name: by-default, match: { methods: [GET], path: /by-default } }
`

t.test(
  'header rules apply to requests and responses, in every spelling that servers treat as equal',
  async (t) => {
    const { gateway, upstream, raw, issuer } = await startGatewayUnderTest(t, { policy: POLICY })
    upstream.reply(
      'HTTP/1.1 200 OK\r\nserver: nginx\r\nx-powered-by: php\r\nvary: accept\r\ncache-control: public\r\ncontent-length: 0\r\n\r\n',
    )
    const mine = 'X-Plan: silver\r\nX_Plan: bronze\r\nX-Tag: mine\r\nx-secret: 1\r\nX_SECRET: 2\r\nX-Other: 3'
    const head = `GET /changed HTTP/1.1\r\nhost: api.test\r\nconnection: close\r\nauthorization: Bearer ${issuer.store('a')}`
    const answer = await raw(`${head}\r\n${mine}\r\nconnection: x-plan\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 200 /)
    t.strictSame(upstream.seen('x-plan'), ['gold'])
    t.strictSame(upstream.seen('x-tag'), ['mine', 'ours'])
    for (const gone of ['x_plan', 'x-secret', 'x_secret']) t.strictSame(upstream.seen(gone), [], gone)
    t.strictSame(upstream.seen('x-other'), ['3'])
    t.equal(upstream.seen('x-auth-subject').length, 1)
    const { headers } = await send(`${gateway.url}/changed`)
    t.equal(headers.get('server'), 'api')
    t.equal(headers.get('vary'), 'accept, x-plan')
    t.equal(headers.get('x-powered-by'), null)
    t.equal(headers.get('cache-control'), 'public', 'a route replaces all rules of the defaults')
    t.match((await send(`${gateway.url}/by-default`)).headers.get('cache-control'), 'no-store')
    t.equal(
      (await send(`${gateway.url}/none`)).headers.get('server'),
      null,
      'rules do not apply to a local reply',
    )
  },
)

t.test('editHeaders() keeps headers without a rule unchanged', async (t) => {
  const names = fc.constantFrom('x-a', 'X-A', 'x_a', 'x-b', 'X-B', 'x-c')
  const list = fc.array(fc.tuple(names, fc.constantFrom('1', '2')), { maxLength: 6 })
  fc.assert(
    fc.property(list, (pairs) => {
      const edit = compileHeaderEdit(
        {
          request: { set: [{ name: 'x-a', value: 's' }], add: [{ name: 'x-b', value: 'a' }], remove: [] },
          response: { set: [], add: [], remove: [] },
        },
        'request',
      )
      if (edit === undefined) throw new Error('there is a change')
      const kept = pairs.filter(([name]) => name.toLowerCase().replace('_', '-') !== 'x-a')
      t.strictSame(editHeaders(pairs.flat(), edit), [...kept.flat(), 'x-a', 's', 'x-b', 'a'])
    }),
    { numRuns: 100 },
  )
})
