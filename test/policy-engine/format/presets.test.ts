import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { NO_PRESETS, readPresets } from '../../../policy-engine/format/presets.ts'
import { loadPolicies } from '../../../policy-engine/load/load-policies.ts'
import { diagnosticsOf } from '../../fixtures/diagnostics-of.ts'

const SHIPPED = readPresets(join(findPackageRoot(), 'config', 'presets.yaml'))

function load(rest: string, presets = SHIPPED) {
  const text = `apiVersion: scopegate/v1\nkind: Policy\nname: a\nupstream: api\n${rest}`
  const loaded = loadPolicies({ dir: t.testdir({ 'a.policy.yaml': text }), presets })
  return {
    ...loaded,
    codes: loaded.diagnostics.map(
      ({ code, location, hint }) => `${code} ${location.line}:${location.column} ${hint}`,
    ),
  }
}

const ROUTE = 'match: { methods: [GET], path: /a }'

t.test('a missing preset is an error and grants no access', async (t) => {
  const { routes, codes } = load(`routes:\n  - { name: r, extends: mpc, ${ROUTE} }\n`)
  t.strictSame(codes, ['P206 6:25 did you mean "mcp"?'])
  t.strictSame(routes, [])
  t.match(load(`defaults: { extends: none }\nroutes:\n  - { name: r, ${ROUTE} }\n`).codes, [
    /^P206 5:22 known: learning-platform, mcp/,
  ])
  t.match(load(`routes:\n  - { name: r, extends: mcp, ${ROUTE} }\n`, NO_PRESETS).codes, [
    /^P206 .*the file has no presets/,
  ])
  t.match(load(`routes:\n  - { name: r, extends: __proto__, ${ROUTE} }\n`).codes, [/^P206 /])
  t.match(load(`routes:\n  - { name: r, extends: [mcp], ${ROUTE} }\n`).codes, [/^P104 /])
})

t.test('a route overrides the defaults of its policy, which override the preset', async (t) => {
  const { routes, codes } = load(
    `defaults: { timeout: 7s }
routes:
  - { name: plain, match: { methods: [GET], path: /plain } }
  - { name: tool, extends: mcp, match: { methods: [GET], path: /tool } }
  - { name: own, extends: mcp, anonymous: deny, match: { methods: [GET], path: /own } }
`,
  )
  t.match(codes, [/^P314 7:13 /], 'only the first route lacks the key at every level')
  t.match(routes, [
    {
      preset: undefined,
      anonymous: 'allow',
      timeoutMs: 7_000,
      idleTimeoutMs: undefined,
      upstreamAuth: 'none',
    },
    {
      preset: 'mcp',
      anonymous: 'challenge',
      timeoutMs: 7_000,
      idleTimeoutMs: 600_000,
      upstreamAuth: 'assertion',
    },
    { preset: 'mcp', anonymous: 'deny', timeoutMs: 7_000 },
  ])
})

t.test('conditions are checked against the anonymous setting of the preset', async (t) => {
  const when = 'when: [{ claim: s, exists: true }]'
  t.strictSame(load(`routes:\n  - { name: r, extends: mcp, ${when}, ${ROUTE} }\n`).codes, [])
  t.strictSame(load(`defaults: { extends: mcp }\nroutes:\n  - { name: r, ${when}, ${ROUTE} }\n`).codes, [])
  t.match(load(`routes:\n  - { name: r, extends: mcp, anonymous: allow, ${when}, ${ROUTE} }\n`).codes, [
    /^P308/,
  ])
})

t.test('the route, the defaults or the preset can set the required sign-in', async (t) => {
  const presets = readPresets(
    join(
      t.testdir({
        'presets.yaml': 'presets: { pay: { anonymous: deny, authentication: { acr: [mfa], maxAge: 5m } } }',
      }),
      'presets.yaml',
    ),
  )
  const { routes, codes } = load(
    `defaults: { extends: pay }
routes:
  - { name: preset, match: { methods: [GET], path: /preset } }
  - { name: own, authentication: { maxAge: 1h }, match: { methods: [GET], path: /own } }
`,
    presets,
  )
  t.strictSame(codes, [])
  t.strictSame(
    routes.map(({ authentication }) => authentication),
    [
      { acr: ['mfa'], maxAgeSeconds: 300 },
      { acr: [], maxAgeSeconds: 3_600 },
    ],
  )
  const loose = (text: string) =>
    load(`routes:\n  - { name: r, anonymous: deny, authentication: ${text}, ${ROUTE} }\n`).codes
  t.match(loose('{}'), [/^P10\d 6:/])
  t.match(loose('{ maxAge: 0s }'), [/^P10\d 6:/])
  t.match(loose('{ acr: [] }'), [/^P10\d 6:/])
  t.match(loose('{ acr: ["a b"] }'), [/^P10\d 6:/])
  t.match(loose("{ acr: ['a\"'] }"), [/^P10\d 6:/])
})

t.test('a required sign-in contradicts anonymous: allow', async (t) => {
  const required = 'authentication: { maxAge: 5m }'
  t.match(load(`routes:\n  - { name: r, ${required}, ${ROUTE} }\n`).codes, [
    'P308 6:16 write anonymous: challenge or deny in this route',
  ])
  t.match(load(`defaults: { ${required} }\nroutes:\n  - { name: r, ${ROUTE} }\n`).codes, [/^P308 7:7 /])
  t.strictSame(load(`routes:\n  - { name: r, anonymous: deny, ${required}, ${ROUTE} }\n`).codes, [])
})

t.test('readPresets() lists every problem', async (t) => {
  const found = (text: string) =>
    diagnosticsOf(() => readPresets(join(t.testdir({ 'presets.yaml': text }), 'presets.yaml'))).map(
      ({ code, location }) => `${code} ${location.line}:${location.column}`,
    )
  t.strictSame(found('presets: { a: { timout: 5s, anonymous: alow } }'), ['C101 1:17', 'C102 1:40'])
  t.strictSame(found('presets: { a: { headers: { request: { set: { host: x } } } } }'), ['P312 1:46'])
  t.strictSame(found('presets: { a: { extends: b }, b: {} }'), ['C101 1:17'])
  t.strictSame(found('presets: { A: {} }'), ['C105 1:12'])
  t.strictSame(found('presets: [a]'), ['C104 1:10'])
  t.strictSame(found('other: {}'), ['C101 1:1'])
  t.strictSame(found(''), ['C002 undefined:undefined'])
  t.strictSame(
    diagnosticsOf(() => readPresets(join(t.testdir({}), 'presets.yaml'))).map(({ code }) => code),
    ['C001'],
  )
})

t.test('defaults accept every key that a route accepts', async (t) => {
  const { routes, codes } = load(
    `defaults: { anonymous: deny, bodyLimit: 1KiB, websocket: true, mcp: { readBody: true }, enforce: report, headers: { request: { remove: [X-A] } } }
routes:
  - { name: get, match: { methods: [GET], path: /a } }
  - { name: post, match: { methods: [POST], path: /a } }
`,
  )
  t.strictSame(codes, [])
  const headers = { request: { remove: ['x-a'] } }
  t.match(routes, [
    { bodyLimitBytes: 1_024, websocket: true, enforce: 'report', headers },
    { bodyLimitBytes: 1_024, websocket: false, mcp: { readBody: true }, enforce: 'report', headers },
  ])
  t.notHas(routes[0], { mcp: {} }, 'only POST requests have MCP messages')
})

t.test(
  '`cors` of a route replaces `cors` of the defaults, which replaces `cors` of the preset',
  async (t) => {
    const file = join(
      t.testdir({
        'presets.yaml':
          'presets:\n  web: { cors: { origins: [https://preset.example], headers: [X-Preset] } }\n',
      }),
      'presets.yaml',
    )
    const presets = readPresets(file)
    const { routes, codes } = load(
      `defaults: { anonymous: deny, extends: web }
routes:
  - { name: preset, match: { methods: [GET], path: /preset } }
  - { name: own, match: { methods: [GET], path: /own }, cors: { methods: [GET] } }
  - { name: all, match: { methods: [GET], path: /all }, cors: { origins: ["*"] } }
`,
      presets,
    )
    t.same(codes, [])
    t.same(
      routes.map(({ cors }) => cors),
      [{ origins: ['https://preset.example'], headers: ['x-preset'] }, { methods: ['GET'] }, undefined],
    )
    const wrong = join(
      t.testdir({
        'presets.yaml':
          'presets:\n  a: { cors: { origins: ["*", https://a.example] } }\n  b: { cors: { origins: [https://b.example/b] } }\n',
      }),
      'presets.yaml',
    )
    t.same(
      diagnosticsOf(() => readPresets(wrong)).map(
        ({ code, location }) => `${code} ${location.line}:${location.column}`,
      ),
      ['C105 3:26', 'P320 2:26'],
    )
  },
)

t.test('shared limits are checked with all other values of the file', async (t) => {
  const found = (text: string) =>
    diagnosticsOf(() => readPresets(join(t.testdir({ 'presets.yaml': text }), 'presets.yaml'))).map(
      ({ code, message, location: { line, column } }) => `${code} ${line}:${column} ${message}`,
    )
  const limit = (keys: string) => found(`sharedLimits: { api: { per: 1m, ${keys} } }`)
  t.strictSame(limit('key: client'), ['C106 1:22 sharedLimits.api must have exactly one of requests, plans'])
  t.strictSame(limit('requests: 1, key: client, claim: tenant'), [
    'C106 1:22 sharedLimits.api must have exactly one of key, claim',
  ])
  t.strictSame(limit('requests: 1, key: client, plans: { claim: plan, values: { a: 1 }, default: 1 }'), [
    'C106 1:22 sharedLimits.api must have exactly one of requests, plans',
  ])
  t.strictSame(limit('requests: 1, key: ip'), ['C102 1:51 "ip" is not one of client, subject, address'])
  t.strictSame(limit('key: client, plans: { claim: plan, values: {}, default: 1 }'), [
    'C106 1:76 sharedLimits.api.plans.values is empty',
  ])
  t.strictSame(limit('key: client, plans: { claim: plan, values: { a: 1 } }'), [
    'C103 1:46 the key "default" is missing in sharedLimits.api.plans',
  ])
  t.strictSame(limit('key: client, plans: { claim: plan, values: { a: 1, b: 5 }, default: 6 }'), [
    'C365 1:101 the default of sharedLimits.api.plans is higher than the limit of every plan',
  ])
  t.strictSame(limit('key: client, plans: { claim: plan, values: { a: 1, b: 5 }, default: 5 }'), [])
  t.match(found('sharedLimits: { default: { requests: 1, per: 1m, key: client } }'), [
    /^C105 1:17 "default" is not a name .* other than default$/,
  ])
  t.strictSame(found('{}'), ['C106 1:1 the file is empty'])
  t.strictSame(
    found(
      'presets: { a: { sharedLimits: [apps] } }\nsharedLimits: { api: { requests: 1, per: 1m, key: client } }',
    ),
    ['P207 1:32 shared limit "apps" is not defined'],
  )
})

t.test(
  'the shared limits of a route replace the defaults, and the defaults replace the preset',
  async (t) => {
    const file = join(
      t.testdir({
        'presets.yaml':
          'presets: { p: { anonymous: deny, sharedLimits: [one] } }\nsharedLimits: { one: { requests: 1, per: 1m, key: client }, two: { requests: 2, per: 1m, claim: /org/id } }',
      }),
      'presets.yaml',
    )
    const names = (defaults: string, route: string) =>
      load(
        `defaults: { extends: p, ${defaults} }\nroutes:\n  - { name: r, ${route} ${ROUTE} }\n`,
        readPresets(file),
      ).routes.map(({ sharedLimits }) => sharedLimits?.map(({ name }) => name))
    t.strictSame(names('', ''), [['one']])
    t.strictSame(names('sharedLimits: [two]', ''), [['two']])
    t.strictSame(names('sharedLimits: [two]', 'sharedLimits: [two, one],'), [['two', 'one']])
    t.strictSame(
      names('rateLimit: { requests: 1, per: 1m, by: route }', ''),
      [['one']],
      'a rateLimit adds a limit',
    )
    t.strictSame(names('', 'sharedLimits: [],'), [undefined])
  },
)
