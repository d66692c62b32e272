import t from 'tap'
import { importContract } from '../../../cli/commands/import/import.ts'
import { parseContract } from '../../../cli/openapi/read-contract.ts'
import { cpuMs } from '../../fixtures/cpu-ms.ts'
import { aBigContract } from './a-big-contract.ts'

const ANYTHING = {
  catalogue: undefined,
  upstreams: undefined,
  authorizationServers: undefined,
  presets: undefined,
}
const LIMIT_MS = 20_000 // time limit for a contract, much longer than the usual duration

const from = (text: string) =>
  importContract(parseContract(text, 'api.json'), { name: 'test', upstream: 'api' }, ANYTHING)

const firstOf = (text: string) => {
  const [problem] = from(text).problems
  return problem === undefined
    ? undefined
    : `${problem.code} ${problem.location.line}:${problem.location.column} ${problem.message}`
}

t.test('invalid JSON causes one error at its character', async (t) => {
  for (const [text, expected] of [
    ['{', 'O002 1:1 the document is incomplete'],
    ['{"a": 1,}', 'O002 1:9 a key in double quotes is missing here'],
    ['{"a" 1}', 'O002 1:6 a colon is missing here'],
    ['{"a": 01}', 'O002 1:8 a comma or } is missing here'],
    ['[1 2]', 'O002 1:4 a comma or ] is missing here'],
    ['{"a": nope}', 'O002 1:7 a value is missing here'],
    ['{"a": "x\ny"}', 'O002 1:9 a control character must be escaped'],
    ['{"a": "\\x"}', 'O002 1:7 this string contains an invalid escape sequence'],
    ['{"a": "x}', 'O002 1:7 the closing quote of this string is missing'],
    ['{} {}', 'O002 1:4 unexpected text after the end of the document'],
    ['{"openapi": "3.1.0",\n "paths": {}, "paths": {}}', 'O002 2:15 the key "paths" is defined twice'],
    ['', 'O002 undefined:undefined the file is empty'],
    [
      'openapi: 3.1.0\npaths:\n  /a: &x { get: {} }\n  /b: *x\n',
      'O002 3:7 &x is an anchor, and anchors are not supported',
    ],
  ] as const)
    t.equal(firstOf(text), expected, text)
})

t.test('excessive nesting is rejected, in JSON and in YAML', async (t) => {
  for (const text of [
    `{"openapi": "3.1.0", "x": ${'['.repeat(2_000_000)}`,
    `{"openapi": "3.1.0", "x": ${'{"a":'.repeat(100_000)}`,
    `openapi: 3.1.0\nx: ${'['.repeat(20_000)}\n`,
  ]) {
    const { problems } = from(text)
    t.equal(problems[0]?.code, 'O002')
    t.match(problems[0]?.message, /nested/)
  }
})

t.test('keys such as __proto__ are plain names', async (t) => {
  const text = `{"openapi": "3.1.0", "paths": {"__proto__": {"get": {}}, "/constructor": {"__proto__": {"get": {}}, "get":
    {"operationId": "__proto__", "security": [{"__proto__": ["a"]}], "x-scopegate": {"__proto__": {"scopes": {}}}}},
    "/toString": {"$ref": "#/__proto__/x"}}, "components": {"securitySchemes": {}}}`
  const { problems, text: written } = from(text)
  t.equal(written, undefined)
  t.same(
    problems.map(({ code, location }) => `${code} ${location.line}`),
    ['O101 1', 'O102 1', 'O103 2', 'O004 3'],
  )
  t.equal(({} as { get?: unknown }).get, undefined)
})

t.test('circular references and long chains of references are errors', async (t) => {
  const chain = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [
      `p${index}`,
      { $ref: `#/components/pathItems/p${index + 1}` },
    ]),
  )
  const round = { a: { $ref: '#/components/pathItems/b' }, b: { $ref: '#/components/pathItems/a' } }
  for (const [pathItems, message] of [
    [chain, /more than 32 references/],
    [round, /is a circular reference/],
  ] as const) {
    const start = pathItems === chain ? 'p0' : 'a'
    const document = {
      openapi: '3.1.0',
      paths: { '/a': { $ref: `#/components/pathItems/${start}` } },
      components: { pathItems },
    }
    t.match(from(JSON.stringify(document)).problems[0], { code: 'O004', message })
  }
  for (const reference of [
    'http://127.0.0.1:1/x',
    'file:///etc/passwd',
    '../other.yaml',
    '#nowhere',
    '#/a/%',
    '',
  ])
    t.equal(
      from(JSON.stringify({ openapi: '3.1.0', paths: { '/a': { $ref: reference } } })).problems[0]?.code,
      'O004',
      reference,
    )
})

t.test('a contract with ten megabytes in one line is read', async (t) => {
  const filler = Array.from({ length: 40_000 }, (_, index) => ({ name: `x${index}`, text: 'y'.repeat(200) }))
  const text = aBigContract(50, { 'x-filler': filler })
  t.ok(text.length > 9_000_000)
  const start = cpuMs()
  t.equal(from(text).routes, 300)
  const broken = from(text.replaceAll('"put"', '"PUT"'))
  t.equal(broken.problems.length, 1)
  t.match(broken.problems[0]?.message, / \(50 places\)$/)
  t.match(broken.problems[0]?.location, { line: 1, text: undefined })
  t.ok(cpuMs() - start < LIMIT_MS)
})
