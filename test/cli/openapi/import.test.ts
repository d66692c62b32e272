import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { importContract } from '../../../cli/commands/import/import.ts'
import { main } from '../../../cli/main.ts'
import { parseContract } from '../../../cli/openapi/read-contract.ts'
import { loadPolicies } from '../../../policy-engine/load/load-policies.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'
import { aBigContract } from './a-big-contract.ts'

const NAMES = { name: 'test', upstream: 'api' }
const ANYTHING = {
  catalogue: undefined,
  upstreams: undefined,
  authorizationServers: undefined,
  presets: undefined,
}

const readExample = (name: string) =>
  parseContract(readFileSync(join(import.meta.dirname, 'contracts', name), 'utf8'), name)

function from(text: string) {
  return importContract(parseContract(text, 'api.yaml'), NAMES, ANYTHING)
}

/** Returns a contract with the operation `GET /a` and this security. */
function withSecurity(security: string): string {
  return `openapi: 3.1.0
paths: { /a: { get: { security: ${security} } } }
components: { securitySchemes: { o: { type: oauth2 }, p: { type: openIdConnect }, b: { type: http, scheme: bearer }, k: { type: apiKey }, m: { type: mutualTLS } } }
`
}

/** Returns the errors of an import, as `CODE line:column`. */
function errorsOf(text: string): readonly string[] {
  const { problems, text: written } = from(text)
  const errors = problems.filter((one) => one.severity === 'error')
  if (errors.length > 0 && written !== undefined) throw new Error('written in spite of errors')
  return errors.map(({ code, location }) => `${code} ${location.line}:${location.column}`)
}

/** Returns the generated rules of one operation: the anonymous setting and all keys below `match`. */
function routeOf(text: string): string {
  const { text: written = '' } = from(text)
  const anonymous = /defaults:\n {2}anonymous: (\w+)/.exec(written)?.[1]
  const [, ...below] = (written.split('match: ')[1] ?? '').split('\n')
  return [anonymous, ...below.map((line) => line.trim())].join('\n').trim()
}

t.test('import converts security that a route can express to scopes and an anonymous rule', async (t) => {
  for (const [security, expected] of [
    ['[]', 'challenge\nanonymous: allow'],
    ['[{}]', 'challenge\nanonymous: allow'],
    ['[{ o: [] }]', 'challenge'],
    ['[{ b: [] }, {}]', 'challenge\nanonymous: allow'],
    ['[{ o: [a] }]', 'challenge\nscopes: { all: [a] }'],
    ['[{ p: [a, b] }, {}]', 'challenge\nanonymous: allow\nscopes: { all: [a, b] }'],
    ['[{ o: [a] }, { o: [b] }]', 'challenge\nscopes: { any: [a, b] }'],
    ['[{ o: [a, b] }, { o: [c, a] }]', 'challenge\nscopes: { all: [a], any: [b, c] }'],
    // Every caller with the scopes a and b satisfies the alternative [a], so `all` contains only a.
    ['[{ o: [a, b] }, { o: [a] }]', 'challenge\nscopes: { all: [a] }'],
    ['[{ o: [a, b] }, { b: [] }]', 'challenge'],
    ['[{ o: [a] }, { o: [a] }]', 'challenge\nscopes: { all: [a] }'],
  ] as const)
    t.equal(routeOf(withSecurity(security)), expected, security)
})

t.test(
  'security that a route cannot express is an error with its location, unless x-scopegate overrides it',
  async (t) => {
    for (const [security, expected] of [
      ['[{ o: [a, b] }, { o: [c] }]', 'O103 2:34'],
      ['[{ o: [a], k: [] }]', 'O103 2:34'],
      ['[{ k: [] }]', 'O103 2:39'],
      ['[{ m: [] }, {}]', 'O103 2:39'],
      ['[{ b: [admin] }]', 'O103 2:39'],
      ['[{ nowhere: [] }]', 'O103 2:45'],
      ['[{ constructor: [] }]', 'O103 2:49'],
      ['[{ o: a }]', 'O103 2:39'],
      ['[o]', 'O103 2:34'],
      ['o', 'O103 2:33'],
    ] as const) {
      t.same(errorsOf(withSecurity(security)), [expected], security)
      const text = withSecurity(`${security}, x-scopegate: { anonymous: deny, scopes: { all: [z] } }`)
      t.equal(routeOf(text), 'challenge\nanonymous: deny\nscopes: { all: [z] }', security)
    }
  },
)

t.test(
  'an operation without security requires a token, and gets the security of the document if there is one',
  async (t) => {
    t.equal(routeOf('openapi: 3.0.0\npaths: { /a: { get: {} } }\n'), 'challenge')
    t.equal(
      routeOf(
        'openapi: 3.0.0\nsecurity: [{ o: [a] }]\npaths: { /a: { get: {} } }\ncomponents: { securitySchemes: { o: { type: oauth2 } } }\n',
      ),
      'challenge\nscopes: { all: [a] }',
    )
  },
)

t.test('the path of servers is a prefix of all routes, and several paths are an error', async (t) => {
  const path = (servers: string, more = '') =>
    /path: "?([^" }]+)/.exec(
      from(`openapi: 3.0.0\nservers: ${servers}\npaths: { /a: { ${more} get: {} } }\n`).text ?? '',
    )?.[1]
  t.equal(path('[{ url: "https://a.test/v1/" }, { url: "http://b.test/v1" }]'), '/v1/a')
  t.equal(path('[{ url: /v2 }]'), '/v2/a')
  t.equal(path('[{ url: "https://{env}.test:{port}/v1" }]'), '/v1/a')
  t.equal(path('[{ url: "{scheme}://a.test/v1" }]'), '/v1/a')
  t.equal(path('[{ url: "//a.test/{v}", variables: { v: { default: v7 } } }]'), '/v7/a')
  t.equal(path('[]'), '/a')
  t.equal(path('[{ url: /v1 }]', 'servers: [{ url: /other }],'), '/other/a')
  for (const [servers, at] of [
    ['[{ url: /v1 }, { url: /v2 }]', '2:32'],
    ['[{ url: v1 }]', '2:18'],
    ['[{ url: ./v1 }]', '2:18'],
    ['[{ url: "/{v}" }]', '2:18'],
    ['[{ url: "/{v}", variables: { v: { default: a, enum: [a, b] } } }]', '2:18'],
    ['[{ url: "/v1?x=1" }]', '2:18'],
    ['[{}]', '2:11'],
    ['{}', '2:10'],
  ] as const)
    t.same(
      errorsOf(`openapi: 3.0.0\nservers: ${servers}\npaths: { /a: { get: {} } }\n`),
      [`O104 ${at}`],
      servers,
    )
})

t.test('import rejects other kinds of documents, and suggests a correction', async (t) => {
  for (const [text, expected, hint] of [
    ['{"swagger": "2.0", "paths": {}}', 'O003 1:13', 'convert the document to OpenAPI 3'],
    ['swagger: "2.0"\npaths: {}\n', 'O003 1:10', 'convert the document to OpenAPI 3'],
    ['{"openapi": "3.2.0"}', 'O003 1:13', '3.0 and 3.1'],
    ['{"openapi": 3.1}', 'O003 1:13', '3.0 and 3.1'],
    ['{"info": {}}', 'O003 1:1', 'must start with'],
    ['[1]', 'O003 1:1', 'must start with'],
    ['{"openapi": "3.1.0"}', 'O005 1:1', 'needs a route'],
    ['{"openapi": "3.1.0", "paths": []}', 'O005 1:22', undefined],
    ['{"openapi": "3.1.0", "paths": {"/a": null}}', 'O005 1:38', undefined],
    ['{"openapi": "3.1.0", "paths": {"/a": {"get": null}}}', 'O005 1:46', undefined],
  ] as const) {
    const [problem] = from(text).problems
    t.same(errorsOf(text), [expected], text)
    if (hint !== undefined) t.match(problem?.hint, hint)
  }
})

t.test('route names come from operationId, or from method and path, and are stable and unique', async (t) => {
  const names = (paths: string) =>
    [...(from(`openapi: 3.0.0\npaths: ${paths}\n`).text ?? '').matchAll(/- name: (.*)/g)].map(
      ([, name]) => name,
    )
  t.same(names('{ /a: { get: { operationId: getUserByID }, put: { operationId: "test.list-users" } } }'), [
    'get-user-by-id',
    'list-users',
  ])
  t.same(names('{ "/a/{b}/c": { get: {}, post: { operationId: "42" }, put: { operationId: "日本" } } }'), [
    'get-a-b-c',
    'post-a-b-c',
    'put-a-b-c',
  ])
  t.same(
    names(
      '{ /a: { get: { operationId: x }, put: { operationId: X } }, /b: { get: { operationId: x }, put: { operationId: x-get } } }',
    ),
    ['x-get-2', 'x-put', 'x-get-3', 'x-get'],
  )
  const [long = '', longer = ''] = names(
    `{ /a: { get: { operationId: ${'a'.repeat(80)} }, put: { operationId: ${'a'.repeat(81)} } } }`,
  )
  t.equal(long.length, 63)
  t.not(long, longer)
})

t.test(
  'x-scopegate contains keys of a route, validated like a policy, with locations in the contract',
  async (t) => {
    const operation = (extension: string) =>
      `openapi: 3.0.0\npaths:\n  /a:\n    get:\n      x-scopegate: ${extension}\n`
    t.match(
      from(operation('{ timeout: 5s, match: { path: /b/** } }')).text,
      /path: \/b\/\*\*.*\n {4}timeout: 5s/,
    )
    t.same(errorsOf(operation('{ timout: 5s }')), ['P101 5:22'])
    t.same(errorsOf(operation('{ timeout: 5 }')), ['P104 5:31'])
    t.same(errorsOf(operation('{ match: { path: x } }')), ['P108 5:37'])
    t.same(errorsOf(operation('{ scopes: [a] }')), ['P107 5:30'])
    t.same(errorsOf(operation('5s')), ['O005 5:20'])
    t.same(errorsOf(`x-scopegate: { defaults: { timeout: 1 } }\n${operation('{}')}`), ['P104 1:37'])
  },
)

t.test(
  'a contract with mixed security causes an error for each rule that a policy cannot express',
  async (t) => {
    const { problems, text } = importContract(readExample('mixed-security.yaml'), NAMES, ANYTHING)
    t.equal(text, undefined)
    t.same(
      problems.map(({ code, location }) => `${code} ${location.line}:${location.column}`),
      ['O108 12:12', 'O105 27:3', 'O103 37:11', 'O103 51:28', 'O103 56:18'],
    )
  },
)

t.test(
  'a contract with unusual paths causes an error for each path that a policy cannot express',
  async (t) => {
    const { problems } = importContract(readExample('odd-templates.yaml'), NAMES, ANYTHING)
    t.same(
      problems.map(({ code, location }) => `${code} ${location.line}`),
      [5, 7, 9, 11]
        .map((line) => `O101 ${line}`)
        .concat(
          'O107 14',
          'O101 17',
          'O105 19',
          'O105 19',
          'O101 21',
          'P108 27',
          'P108 29',
          'P302 31',
          'O101 33',
          'O004 36',
          'O004 42',
          'O004 44',
        ),
    )
  },
)

t.test('import of a contract with several hundred operations writes a valid policy', async (t) => {
  const document = parseContract(aBigContract(60), 'big.json')
  const { text = '', problems, routes } = importContract(document, NAMES, ANYTHING)
  t.same(problems, [])
  t.equal(routes, 360)
  const folder = t.testdir({ 'test.policy.yaml': text })
  const tooMany = parseContract(aBigContract(500), 'bigger.json')
  t.match(importContract(tooMany, NAMES, ANYTHING), { text: undefined, problems: [{ code: 'O106' }] })
  const loaded = loadPolicies({ dir: folder })
  t.same(
    loaded.diagnostics.map(({ code, message }) => `${code} ${message}`),
    [],
  )
  t.equal(loaded.routes.length, 360)
  const child = loaded.routes.find(({ name }) => name === 'test/resource0-child')
  t.match(child, {
    path: '/api/resource0s/{id}/children/{childId}',
    anonymous: 'allow',
    scopes: { all: ['area0:read'] },
  })
})

t.test(
  'import writes a policy, checks it against the catalogue, and does not overwrite a file',
  async (t) => {
    const folder = t.testdir({
      'api.yaml': withSecurity('[{ o: [courses:read] }]'),
      'typo.yaml': withSecurity('[{ o: [corses:read] }]'),
    })
    const run = async (...args: string[]) => {
      const terminal = aTerminal({ folder })
      return { code: await main(['import', ...args], terminal), ...terminal.said }
    }
    const output = ['--output', 'things.policy.yaml']
    t.match(await run('api.yaml', '--upstream', 'learning-platform', ...output), { code: 0, out: '' })
    const written = readFileSync(join(folder, 'things.policy.yaml'), 'utf8')
    t.match(written, /^name: things$/m)
    const again = await run('api.yaml', '--upstream', 'learning-platform', ...output)
    t.equal(again.code, 1)
    t.match(again.err, 'the file exists')
    t.equal((await run('api.yaml', '--upstream', 'learning-platform', ...output, '--force')).code, 0)
    const typo = await run('typo.yaml', '--upstream', 'learning-platform')
    t.equal(typo.code, 3)
    t.equal(typo.out, '')
    t.match(typo.err, /error\[P201\].*\n.*typo\.yaml:2:40[\s\S]*did you mean "courses:read"\?/)
    t.match((await run('api.yaml', '--upstream', 'learning')).err, /error\[P202\]/)
    t.match((await run('none.yaml', '--upstream', 'x')).err, /error\[O001\]/)
    const preset = (name: string) =>
      `openapi: 3.0.0\npaths:\n  /a:\n    get:\n      x-scopegate: { extends: ${name} }\n`
    writeFileSync(join(folder, 'preset.yaml'), preset('nobody-wrote-it'))
    t.match(
      (await run('preset.yaml', '--upstream', 'learning-platform')).err,
      /error\[P206\].*\n.*preset\.yaml:5:31/,
    )
    const json = await run('api.yaml', '--upstream', 'learning-platform', '--json', '--name', 'things')
    t.match(JSON.parse(json.out), { ok: true, routes: 1, policy: /^name: things$/m, problems: [] })

    t.match(await run('api.yaml', '--check', 'things.policy.yaml'), {
      code: 0,
      out: /agree: 1 operations, 1 routes\n$/,
    })
    writeFileSync(
      join(folder, 'things.policy.yaml'),
      `${written.replace('courses:read', 'courses:write').replace('challenge', 'allow')}
  - name: more
    match: { methods: [GET, POST], path: /a/b }
`,
    )
    writeFileSync(
      join(folder, 'api.yaml'),
      `${withSecurity('[{ o: [courses:read] }]').replace('} }\n', '}, /c: { get: {} } }\n')}`,
    )
    const drift = await run('api.yaml', '--check', 'things.policy.yaml')
    t.equal(drift.code, 1)
    t.same(drift.out.match(/(?<=error\[)\w+|(?<=--> .*\/)[^/]+:\d+(?=:)/g), [
      'O303',
      'api.yaml:2',
      'O304',
      'api.yaml:2',
      'O301',
      'api.yaml:2',
      'O302',
      'things.policy.yaml:15',
    ])
    t.match(drift.out, /::: \S+things\.policy\.yaml:11:5/)
  },
)
