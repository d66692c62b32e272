import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadPolicies } from '../../../gateway/routes/load-policies.ts'
import type { Diagnostic } from '../../../runtime/diagnostic.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'

const HEAD = 'apiVersion: scopegate/v1\nkind: Policy\nname: a\nupstream: learning-platform\n' // four lines
const UPSTREAMS = new Set(['learning-platform', 'authorization-server'])

function load(t: Test, files: Record<string, string>): readonly Diagnostic[] {
  const dir = t.testdir(files)
  const loaded = loadPolicies({
    dir,
    catalogue: aCatalogue(['courses:read', 'courses:write', 'orders:read']),
    upstreams: UPSTREAMS,
    authorizationServers: new Set(['authorization-server']),
  })
  t.strictSame(loaded.routes, [], 'nothing is half applied')
  for (const one of loaded.diagnostics) t.notMatch(one.message, /\bat .*:\d+:\d+\)|node_modules/, 'no stack')
  return loaded.diagnostics
}

/** One broken file; `expect` lists every diagnostic: code, line, column, and a part of the message or hint. */
type Case = {
  readonly it: string
  readonly text: string
  readonly expect: readonly [
    code: string,
    line: number | undefined,
    column: number | undefined,
    words: string,
  ][]
}

const route = (lines: string) => `${HEAD}routes:\n${lines}`

const CASES: readonly Case[] = [
  {
    it: 'a WebSocket that no GET can begin',
    text: `${HEAD}routes:\n  - name: r\n    match: { methods: [POST], path: /r }\n    websocket: true\n`,
    expect: [['P306', 8, undefined, 'add GET']],
  },
  {
    it: 'a billion laughs',
    text: `${HEAD}x-a: &a [lol, lol]\nx-b: &b [*a, *a]\nroutes: []\n`,
    expect: [
      ['P016', 5, 6, '&a is an anchor'],
      ['P016', 6, 6, '&b is an anchor'],
      ['P106', 7, 9, 'routes is empty'],
    ],
  },
  {
    it: 'brackets nested ten thousand deep',
    text: '['.repeat(10_000),
    expect: [['P018', 1, undefined, 'nested too deeply']],
  },
  {
    it: 'a __proto__ key',
    text: `${HEAD}__proto__: { anonymous: allow }\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x }\n`,
    expect: [['P101', 5, 1, 'unknown key "__proto__"']],
  },
  {
    it: 'keys of Object.prototype',
    text: `${HEAD}constructor: 1\ntoString: 2\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x }\n`,
    expect: [
      ['P101', 5, 1, 'constructor'],
      ['P101', 6, 1, 'toString'],
    ],
  },
  { it: 'a NUL character', text: `${HEAD}owner: a\0b\n`, expect: [['P004', 5, 9, 'U+0000']] },
  {
    it: 'an escape sequence for the terminal',
    text: `${HEAD}owner: "\u001b[2J"\n`,
    expect: [['P004', 5, 9, 'U+001B']],
  },
  {
    it: 'a tag that asks for code',
    text: `${HEAD}owner: !!js/function "x"\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x }\n`,
    expect: [['P016', 5, 8, '!!js/function']],
  },
  {
    it: 'a merge key',
    text: route('  - <<: { name: x }\n    match: { methods: [GET], path: /x }\n'),
    expect: [['P016', 6, 5, 'merge keys']],
  },
  { it: 'an empty file', text: '', expect: [['P002', undefined, undefined, 'empty']] },
  { it: 'nothing but comments', text: '# nothing\n\n', expect: [['P002', undefined, undefined, 'empty']] },
  { it: 'a list instead of a map', text: '- a\n', expect: [['P104', 1, 1, 'has to be a map of keys']] },
  {
    it: 'a tab as indentation',
    text: `${HEAD}defaults:\n\ttimeout: 5s\nroutes: []\n`,
    expect: [['P011', 6, 1, 'use spaces']],
  },
  {
    it: 'a line indented too deep',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n     anonymous: deny\n'),
    expect: [['P012', 8, 6, 'lines up with no line above']],
  },
  {
    it: 'a key below a value',
    text: `${HEAD}owner: me\n  team: you\n`,
    expect: [['P012', 6, 3, 'deeper than the key above']],
  },
  {
    it: 'no space after a colon',
    text: `apiVersion:scopegate/v1\nkind: Policy\n`,
    expect: [['P013', 1, 11, 'space after its colon']],
  },
  {
    it: 'no space after a dash',
    text: route('  -name: x\n    match: { methods: [GET], path: /x }\n'),
    expect: [['P013', 6, 3, 'space after its dash']],
  },
  {
    it: 'a bracket that is never closed',
    text: route('  - name: x\n    match: { methods: [GET, path: /x }\n'),
    expect: [['P014', 7, undefined, 'this']],
  },
  {
    it: 'a quote that is never closed',
    text: `${HEAD}owner: "me\nroutes: []\n`,
    expect: [['P014', 5, 8, 'this " is never closed']],
  },
  {
    it: 'a key twice',
    text: `${HEAD}owner: a\nowner: b\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x }\n`,
    expect: [['P015', 6, 1, 'the key "owner" is here twice']],
  },
  {
    it: 'a second document',
    text: `${route('  - name: x\n    match: { methods: [GET], path: /x }\n')}---\nname: b\n`,
    expect: [['P017', 8, 1, 'second document']],
  },
  {
    it: 'an unquoted template inside braces',
    text: route('  - name: x\n    match: { methods: [GET], path: /x/{id} }\n'),
    expect: [['P019', 7, 36, 'write "/x/{id}"']],
  },
  {
    it: 'a template without a slash, unquoted',
    text: route('  - name: x\n    match: { methods: [GET], path: {id} }\n'),
    expect: [['P109', 7, 36, 'write "/{id}"']],
  },
  {
    it: 'an unquoted **',
    text: route('  - name: x\n    match: { methods: [GET], path: ** }\n'),
    expect: [['P019', 7, 36, 'write "**"']],
  },
  {
    it: 'a misspelt key',
    text: `${HEAD}defaults:\n  timout: 5s\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x }\n`,
    expect: [['P101', 6, 3, 'did you mean "timeout"?']],
  },
  {
    it: 'a misspelt choice',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    anonymous: chalenge\n'),
    expect: [['P102', 8, 16, 'did you mean "challenge"?']],
  },
  {
    it: 'a method in small letters',
    text: route('  - name: x\n    match: { methods: [get], path: /x }\n'),
    expect: [['P102', 7, 24, 'did you mean "GET"?']],
  },
  {
    it: 'CONNECT and TRACE',
    text: route('  - name: x\n    match: { methods: [CONNECT, TRACE], path: /x }\n'),
    expect: [
      ['P102', 7, 24, '"CONNECT" is not one of'],
      ['P102', 7, 33, '"TRACE" is not one of'],
    ],
  },
  {
    it: 'another version of the format',
    text: HEAD.replace('/v1', '/v2'),
    expect: [
      ['P103', 1, 1, 'the key "routes" is missing'],
      ['P102', 1, 13, 'did you mean "scopegate/v1"?'],
    ],
  },
  {
    it: 'a route without match',
    text: route('  - name: x\n'),
    expect: [['P103', 6, 5, 'the key "match" is missing in routes[0]']],
  },
  {
    it: 'a null route',
    text: route('  -\n'),
    expect: [['P104', 6, undefined, 'routes[0] has to be a map of keys']],
  },
  {
    it: 'methods that are no list',
    text: route('  - name: x\n    match: { methods: GET, path: /x }\n'),
    expect: [['P104', 7, 23, 'write [GET]']],
  },
  {
    it: 'a timeout without a unit',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    timeout: 5\n'),
    expect: [['P104', 8, 14, 'a duration such as']],
  },
  {
    it: 'a timeout in another unit',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    timeout: 5sec\n'),
    expect: [['P105', 8, 14, '"5sec" is not a duration']],
  },
  {
    it: 'a size in decimal units',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    bodyLimit: 10MB\n'),
    expect: [['P105', 8, 16, '"10MB" is not a size']],
  },
  {
    it: 'empty scopes',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: {}\n'),
    expect: [['P106', 8, 13, 'scopes is empty']],
  },
  {
    it: 'an empty list of scopes',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: { all: [] }\n'),
    expect: [['P106', 8, 20, 'is empty']],
  },
  {
    it: 'a bare list of scopes',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: [courses:read, orders:read]\n',
    ),
    expect: [
      ['P107', 8, 13, 'write { all: [courses:read, orders:read] } or { any: [courses:read, orders:read] }'],
    ],
  },
  {
    it: 'one bare scope',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: courses:read\n'),
    expect: [['P107', 8, 13, 'write { all: [courses:read] } or { any: [courses:read] }']],
  },
  {
    it: 'a path of another router',
    text: route('  - name: x\n    match: { methods: [GET], path: /x/:id }\n'),
    expect: [['P108', 7, 36, 'write {id}']],
  },
  {
    it: 'a wildcard in the middle',
    text: route('  - name: x\n    match: { methods: [GET], path: /x/**/y }\n'),
    expect: [['P108', 7, 36, 'only at the end']],
  },
  {
    it: 'a path with dot segments',
    text: route('  - name: x\n    match: { methods: [GET], path: /x/../y }\n'),
    expect: [['P108', 7, 36, 'dot segments']],
  },
  {
    it: 'a path with an encoded slash',
    text: route('  - name: x\n    match: { methods: [GET], path: /x%2Fy }\n'),
    expect: [['P108', 7, 36, 'cannot stand in a path']],
  },
  {
    it: 'a path that is not canonical',
    text: route('  - name: x\n    match: { methods: [GET], path: /%61dmin }\n'),
    expect: [['P108', 7, 36, 'write admin']],
  },
  {
    it: 'a misspelt scope',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: { all: [course:read] }\n'),
    expect: [['P201', 8, 21, 'did you mean "courses:read"?']],
  },
  {
    it: 'a scope in capitals',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: { any: [orders:read, Courses:Read] }\n',
    ),
    expect: [['P201', 8, 34, 'did you mean "courses:read"?']],
  },
  {
    it: 'an unknown upstream',
    text: `${HEAD.replace('learning-platform', 'learning-platfrom')}routes:\n  - name: x\n    match: { methods: [GET], path: /x }\n`,
    expect: [['P202', 4, 11, 'did you mean "learning-platform"?']],
  },
  {
    it: 'a rate limit by nobody',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n    rateLimit: { requests: 6, per: 1m, by: clinet }\n',
    ),
    expect: [['P102', 8, 44, 'did you mean "client"?']],
  },
  {
    it: 'rate limits that count nothing, or longer than a day',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n    rateLimit: { requests: 0, per: 25h, by: ip }\n  - name: y\n    match: { methods: [GET], path: /y }\n    rateLimit: { requests: 1.5, per: 500ms }\n',
    ),
    expect: [
      ['P106', 8, 28, 'requests'],
      ['P105', 8, 36, 'from 1s to 24h'],
      ['P103', 11, 5, 'by'],
      ['P104', 11, 28, 'a whole number'],
      ['P105', 11, 38, 'from 1s to 24h'],
    ],
  },
  {
    it: 'a rewrite with a parameter that the route does not have',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: "/x/{courseId}" }\n    rewrite: { path: "/y/{courseID}" }\n',
    ),
    expect: [['P203', 8, 22, 'did you mean {courseId}?']],
  },
  {
    it: 'an advertised scope that would not do',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: { any: [courses:read, orders:read], advertise: courses:write }\n',
    ),
    expect: [['P204', 8, 60, 'take one of courses:read, orders:read']],
  },
  {
    it: 'an advertised scope where all are needed',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: { all: [courses:read], advertise: courses:read }\n',
    ),
    expect: [['P204', 8, 47, 'leave it out']],
  },
  {
    it: 'a rewrite with a parameter where there is none',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    rewrite: { path: "/y/{id}" }\n'),
    expect: [['P203', 8, 22, 'its path has none']],
  },
  {
    it: 'a rewrite with ** where the route has none',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    rewrite: { path: /y/** }\n'),
    expect: [['P203', 8, 22, 'does not end in **']],
  },
  {
    it: 'a rewrite to what no path is',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    rewrite: { path: /y/../z }\n'),
    expect: [['P108', 8, 22, 'dot segments']],
  },
  {
    it: 'a rewrite with a query',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    rewrite: { path: /y?a=b }\n'),
    expect: [['P108', 8, 22, 'no query']],
  },
  {
    it: 'a rewrite without quotes',
    text: route('  - name: x\n    match: { methods: [GET], path: /x }\n    rewrite: { path: { id } }\n'),
    expect: [['P109', 8, 22, 'without quotes']],
  },
  {
    it: 'the token endpoint as a route',
    text: route('  - name: x\n    match: { methods: [POST], path: /api/oauth/token }\n'),
    expect: [['P302', 7, 37, '/api/oauth/**']],
  },
  {
    it: 'a route below /internal',
    text: route('  - name: x\n    match: { methods: [GET], path: /internal/revocations }\n'),
    expect: [['P302', 7, 36, '/internal/**']],
  },
  {
    it: 'everything below /oauth',
    text: route('  - name: x\n    match: { methods: [GET], path: /oauth/** }\n'),
    expect: [['P302', 7, 36, '/oauth/**']],
  },
  {
    it: 'a document of the gateway',
    text: route('  - name: x\n    match: { methods: [GET], path: /auth.md }\n'),
    expect: [['P302', 7, 36, '/auth.md']],
  },
  ...['/internal/revocations', '/Internal/x', '/{id}/revocations', '/**'].map(
    (path): Case => ({
      it: `a rewrite onto ${path} of the authorization server`,
      text: route(
        `  - name: x\n    match: { methods: [GET], path: "/x/{id}/**" }\n    rewrite: { path: "${path}" }\n`,
      ).replace('learning-platform', 'authorization-server'),
      expect: [['P307', 8, 22, 'other than internal']],
    }),
  ),
  {
    it: 'a path of the authorization server that any first segment may be in',
    text: route('  - name: x\n    match: { methods: [GET], path: "/{any}/revocations" }\n').replace(
      'learning-platform',
      'authorization-server',
    ),
    expect: [['P307', 7, 36, 'other than internal']],
  },
  {
    it: 'a route name twice',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: /x }\n  - name: x\n    match: { methods: [GET], path: /y }\n',
    ),
    expect: [['P304', 8, 11, 'route "x" is here twice']],
  },
  {
    it: 'two routes of one shape',
    text: route(
      '  - name: x\n    match: { methods: [GET], path: "/x/{id}" }\n  - name: y\n    match: { methods: [GET, POST], path: "/x/{key}" }\n',
    ),
    expect: [['P301', 9, 42, 'both claim GET /x/{key}']],
  },
]

t.test('loadPolicies() refuses, with the place and what to write:', async (t) => {
  for (const { it, text, expect } of CASES) {
    t.test(it, async (t) => {
      const diagnostics = load(t, { 'a.policy.yaml': text })
      t.strictSame(
        diagnostics.map((one) => one.code),
        expect.map(([code]) => code),
      )
      for (const [index, [, line, column, words]] of expect.entries()) {
        const one = diagnostics[index]
        t.equal(one?.place.line, line)
        if (column !== undefined) t.equal(one?.place.column, column)
        t.ok(`${one?.message} ${one?.hint}`.includes(words), `${one?.message} | ${one?.hint}`)
        if (line !== undefined) t.equal(one?.place.text, text.split('\n')[line - 1]?.replace('\r', ''))
      }
    })
  }
})

t.test('loadPolicies() names every problem of a file at once', async (t) => {
  const text = route(
    '  - name: X\n    match: { methods: [GTE], path: x }\n    scopes: { all: [course:read] }\n    timout: 5s\n',
  )
  const diagnostics = load(t, { 'a.policy.yaml': text })
  t.strictSame(
    diagnostics.map((one) => [one.code, one.place.line]),
    [
      ['P105', 6],
      ['P102', 7],
      ['P108', 7],
      ['P201', 8],
      ['P101', 9],
    ],
  )
})

t.test('loadPolicies() names every syntax slip of a file once, not in cascades', async (t) => {
  const text = `${HEAD}owner:me\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x/{id} }\n  -name: y\n    match: { methods: [GET], path: /y/{id} }\n     anonymous: deny\n`
  const diagnostics = load(t, { 'a.policy.yaml': text })
  t.strictSame(
    diagnostics.map((one) => [one.code, one.place.line]),
    [
      ['P013', 5],
      ['P019', 8],
      ['P013', 9],
      ['P019', 10],
      ['P012', 11],
    ],
  )
})

t.test('loadPolicies() finds a conflict across files and names both places', async (t) => {
  const one = route('  - name: one\n    match: { methods: [GET], path: "/x/{a}/**" }\n')
  const two = route('  - name: two\n    match: { methods: [GET, PUT], path: "/x/{b}/**" }\n').replace(
    'name: a',
    'name: b',
  )
  const [found, ...more] = load(t, { 'a.policy.yaml': one, 'b.policy.yaml': two })
  t.strictSame(more, [])
  t.equal(found?.code, 'P301')
  t.match(found?.place, { file: /b\.policy\.yaml$/, line: 7, column: 41 })
  t.match(found?.related, [
    { message: 'a/one claims it here', place: { file: /a\.policy\.yaml$/, line: 7, column: 36 } },
  ])
})

t.test('loadPolicies() finds a policy name that two files use', async (t) => {
  const text = (path: string) => route(`  - name: one\n    match: { methods: [GET], path: ${path} }\n`)
  const found = load(t, { 'a.policy.yaml': text('/x'), 'b.policy.yaml': text('/y') })
  t.match(found, [{ code: 'P303', place: { file: /b\.policy\.yaml$/, line: 3, column: 7 } }])
})

t.test(
  'loadPolicies() keeps true columns with CRLF, a byte order mark and characters outside the basic plane',
  async (t) => {
    const text = `\ufeff${route('  - { name: x, x-note: "😀é", anonymous: alow, match: { methods: [GET], path: /x } }\n').replaceAll('\n', '\r\n')}`
    const [found, ...more] = load(t, { 'a.policy.yaml': text })
    t.strictSame(more, [])
    t.equal(found?.code, 'P102')
    t.equal(found?.place.line, 6)
    t.equal(found?.place.column, 41)
    t.notMatch(found?.place.text, /\r/)
  },
)

t.test('loadPolicies() explains folders and files that cannot be read', async (t) => {
  const codes = (dir: string) => loadPolicies({ dir }).diagnostics.map((one) => `${one.code} ${one.message}`)
  const dir = t.testdir({
    empty: {},
    folder: { 'a.policy.yaml': {} },
    dangling: { 'a.policy.yaml': t.fixture('symlink', 'nowhere') },
    loop: { 'a.policy.yaml': t.fixture('symlink', 'a.policy.yaml') },
    large: { 'a.policy.yaml': `#${'x'.repeat(300_000)}` },
    utf16: { 'a.policy.yaml': Buffer.from('\ufeffapiVersion: x', 'utf16le') },
    latin1: { 'a.policy.yaml': Buffer.from([0x61, 0x3a, 0x20, 0xe9]) },
    file: 'text',
    other: { 'courses.yaml': 'x', 'b.policy.yml': 'x', 'README.md': 'x', '..data': {} },
  })
  t.match(codes(join(dir, 'nowhere')), [/^P001 there is no such folder/])
  t.match(codes(join(dir, 'file')), [/^P001 this is a file, not a folder/])
  t.match(codes(join(dir, 'empty')), [/^P005 there is no \*\.policy\.yaml/])
  t.match(codes(join(dir, 'folder')), [/^P001 this is a folder/])
  t.match(codes(join(dir, 'dangling')), [/^P001 there is no such file/])
  t.match(codes(join(dir, 'loop')), [/^P001 .*symbolic link/])
  t.match(codes(join(dir, 'large')), [/^P003 .*300001 bytes/])
  t.match(codes(join(dir, 'utf16')), [/^P004 .*UTF-16/])
  t.match(codes(join(dir, 'latin1')), [/^P004 .*not UTF-8/])
  t.match(codes(join(dir, 'other')), [/^P005/, /^P006/, /^P006/])
})
