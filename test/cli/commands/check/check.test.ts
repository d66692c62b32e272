import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { check } from '../../../../cli/commands/check/check.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'

const ROOT = findPackageRoot()

/**
 * Copies the shipped configuration and policies, and replaces the files in `files`. The value `undefined` removes a
 * file.
 */
function aCopy(t: Test, files: Readonly<Record<string, string | undefined>> = {}): string {
  const dir = t.testdir({ config: {}, policies: {} })
  for (const folder of ['config', 'policies'])
    cpSync(join(ROOT, folder), join(dir, folder), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    if (text === undefined) rmSync(join(dir, name))
    else writeFileSync(join(dir, name), text)
  }
  return dir
}

async function run(
  dir: string,
  more: { policiesDir?: string; env?: Record<string, string>; notes?: boolean } = {},
) {
  let text = ''
  const out = { write: (part: string) => (text += part) }
  const exitCode = await check({ configDir: join(dir, 'config'), out, colour: false, ...more })
  return { exitCode, text }
}

t.test('check() reports errors that violate no schema but prevent a start of the gateway', async (t) => {
  const shipped = readFileSync(join(ROOT, 'config/gateway.yaml'), 'utf8')
  const dir = aCopy(t, {
    'config/gateway.yaml': shipped
      .replace(/ttl: 60s/, 'ttl: 1h')
      .replace('issuers:\n', 'issuers:\n  - { issuer: http://login.test, jwt: { algorithms: [HS256] } }\n'),
  })
  const { exitCode, text } = await run(dir)
  t.equal(exitCode, 3)
  for (const code of ['C305', 'C333', 'C336']) t.match(text, new RegExp(`error\\[${code}\\]`), code)
})

t.test('check() continues after an invalid file and exits with 3', async (t) => {
  const dir = aCopy(t, {
    'config/gateway.yaml': 'baseUrl: nowhere\n',
    'config/scopes.yaml': 'scopes: []\n',
    'config/upstreams.yaml': undefined,
    'policies/courses.policy.yaml': 'apiVersion: scopegate/v1\nkind: Polcy\n',
  })
  const { exitCode, text } = await run(dir)
  t.equal(exitCode, 3)
  for (const code of ['C105', 'C103', 'C106', 'C001', 'P102', 'P103'])
    t.match(text, new RegExp(`error\\[${code}\\]`), code)
  t.match(text, /courses\.policy\.yaml:2:7/)
  t.match(
    text,
    /\n\d+ errors\nexplained in docs\/errors\/C\d{3}\.md, .*, …; `scopegate check --explain C\d{3}` shows the explanation here\n$/,
  )
})

t.test(
  'check() accepts the shipped files without secrets, and lists the routes of anonymous callers',
  async (t) => {
    const { exitCode, text } = await run(aCopy(t))
    t.equal(exitCode, 0)
    t.match(
      text,
      /^note\[N301\]: anonymous callers reach routes: (?:\S+\.policy\.yaml:\d+, ){2}\S+\.policy\.yaml:\d+ and 17 more \(--notes shows all 20\)\n\nok: 20 policies, 78 routes, 35 of 38 scopes used, \d+ tests passed\n$/,
    )
    const all = await run(aCopy(t), { notes: true })
    t.equal(all.text.match(/^note\[N301\]: anonymous callers reach .* without /gm)?.length, 20)
    t.match(
      all.text,
      /note\[N301\]: anonymous callers reach list-courses, .* without courses:read, courses:write\n *--> \S+courses\.policy\.yaml:\d+:\d+/,
    )
    t.match(all.text, /\nok: 20 policies, 78 routes, 35 of 38 scopes used, \d+ tests passed\n$/)
  },
)

t.test(
  'check() rejects routes to the internal endpoints of the authorization server, with any upstream name',
  async (t) => {
    const policy = (name: string, upstream: string) =>
      `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nupstream: ${upstream}\nroutes:\n  - name: x\n    match: { methods: [GET], path: /${name} }\n    anonymous: deny\n    rewrite: { path: /internal/revocations }\n`
    const dir = aCopy(t, {
      'config/upstreams.yaml':
        'learning-platform: { url: http://127.0.0.1:8082 }\nauthorization-server: { url: http://127.0.0.1:8081 }\nother: { urls: [http://127.0.0.1:8081/] }\n',
      'policies/a.policy.yaml': policy('a', 'authorization-server'),
      'policies/b.policy.yaml': policy('b', 'other'),
      'policies/c.policy.yaml': policy('c', 'learning-platform'),
    })
    const { exitCode, text } = await run(dir)
    t.equal(exitCode, 3)
    t.same(text.match(/[abc]\.policy\.yaml:\d+:\d+/g), ['a.policy.yaml:9:22', 'b.policy.yaml:9:22'])
    t.match(text, 'error[P307]')
  },
)

t.test('check() shows all notes if there are few, and always shows all problems', async (t) => {
  const policy = (name: string, scope: string) =>
    `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nupstream: learning-platform\ndefaults: { anonymous: allow }\nroutes:\n  - { name: x, match: { methods: [GET], path: /${name} }, scopes: { all: [${scope}] } }\n`
  const few = t.testdir({
    'a.policy.yaml': policy('a', 'courses:read'),
    'b.policy.yaml': policy('b', 'courses:read'),
  })
  const { exitCode, text } = await run(ROOT, { policiesDir: few })
  t.equal(exitCode, 0)
  t.equal(text.match(/note\[N301\]: anonymous callers reach x without courses:read\n *--> /g)?.length, 2)
  const wrong = await run(aCopy(t, { 'policies/zz.policy.yaml': policy('zz', 'corses:read') }))
  t.equal(wrong.exitCode, 3)
  t.match(wrong.text, /error\[P201\][\s\S]* did you mean "courses:read"\?\n\n/)
  t.match(wrong.text, /\n1 error\nexplained in docs\/errors\/P201\.md;/)
})

t.test('check() reads the policy folder that its argument names', async (t) => {
  const other = t.testdir({})
  const { exitCode, text } = await run(ROOT, { policiesDir: other })
  t.equal(exitCode, 3)
  t.match(text, /error\[P005\]/)
})

t.test('check() warns about a variable only when neither service uses it', async (t) => {
  const env = {
    SCOPEGATE_DATA_DIR: '/data',
    SCOPEGATE_TOKEN_CACHE__MAX_TTL: '5s',
    SCOPEGATE_BASE_ULR: 'http://a',
  }
  const { exitCode, text } = await run(ROOT, { env })
  t.equal(exitCode, 0)
  t.match(text, /warning\[C110\]: SCOPEGATE_BASE_ULR matches no configuration key/)
  t.notMatch(text, /DATA_DIR|MAX_TTL/)
  t.match(text, /; 1 warning\nexplained in /)
})

t.test('check() reports unusable resources as errors and empty resources as warnings', async (t) => {
  const withResources = (text: string) =>
    readFileSync(join(ROOT, 'config', 'gateway.yaml'), 'utf8').replace('resources: []', `resources: ${text}`)
  const bad = await run(
    aCopy(t, {
      'config/gateway.yaml': withResources('[{ path: /api/oauth, issuers: [https://nobody.test] }]'),
    }),
  )
  t.equal(bad.exitCode, 3)
  t.match(bad.text, 'error[C341]')
  t.match(bad.text, 'error[C342]')
  const empty = await run(
    aCopy(t, { 'config/gateway.yaml': withResources('[{ path: /api/courses }, { path: /api/curses }]') }),
  )
  t.equal(empty.exitCode, 0)
  t.match(empty.text, /warning\[C343\]: resources: no route is at or below \/api\/curses/)
  t.notMatch(empty.text, 'below /api/courses')
  t.match(
    empty.text,
    /warning\[C344\]: resources: the authorization server issues no tokens for \/api\/courses/,
  )
  const both = await run(aCopy(t, { 'config/gateway.yaml': withResources('[{ path: /api/courses }]') }), {
    env: { SCOPEGATE_PROTECTED_RESOURCES: '[/api/courses]' },
  })
  t.equal(both.exitCode, 0)
})

t.test('check explains the error when an upstream is a URL instead of a map', async (t) => {
  const shipped = readFileSync(join(ROOT, 'config/upstreams.yaml'), 'utf8')
  const { exitCode, text } = await run(
    aCopy(t, { 'config/upstreams.yaml': `${shipped}orders: http://orders.test\n` }),
  )
  t.equal(exitCode, 3)
  t.match(
    text,
    /error\[C104\]: orders must be a map of keys[\s\S]*\^ write \{ url: "http:\/\/orders\.test" \}\n/,
  )
})

t.test('check() notes credentials of upstreams that the decision endpoint cannot send', async (t) => {
  const read = (name: string) => readFileSync(join(ROOT, 'config', name), 'utf8')
  const credentials = '  credentials: { header: { name: X-Api-Key, valueFile: ./key } }'
  const dir = aCopy(t, {
    'config/gateway.yaml': read('gateway.yaml').replace(
      'trustedProxies: []',
      'trustedProxies: [127.0.0.1]\ndecisions: { listen: { host: 127.0.0.1, port: 4010 }, protocol: auth-request }',
    ),
    'config/upstreams.yaml': read('upstreams.yaml').replace('learning-platform:\n', `$&${credentials}\n`),
  })
  const note = /note\[N303\]: the decision endpoint does not apply (?:\S+, )*credentials of the upstream at /
  t.match((await run(dir, { notes: true })).text, note)
  writeFileSync(join(dir, 'config/upstreams.yaml'), read('upstreams.yaml'))
  t.notMatch((await run(dir, { notes: true })).text, note)
})
