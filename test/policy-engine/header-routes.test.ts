import fc from 'fast-check'
import t from 'tap'
import { findConflicts } from '../../policy-engine/checks/find-conflicts.ts'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'
import { visibleNames } from '../../policy-engine/load/policy-sources.ts'
import type { RouteKey } from '../../policy-engine/load/route-keys.ts'
import { AMBIGUOUS, findHeader } from '../../policy-engine/match/find-header.ts'
import { parsePathTemplate } from '../../policy-engine/match/path-template.ts'
import { buildRouteTable } from '../../policy-engine/match/route-table.ts'

type Line = {
  readonly name: string
  readonly methods: readonly string[]
  readonly path: string
  readonly matchHeaders: readonly { name: string; value: string }[]
}

/** Parses a route in the format `POST /mcp mcp-name=a`. */
function readLine(line: string): Line {
  const [methods = '', path = '', ...headers] = line.split(' ')
  const matchHeaders = headers.map((one) => {
    const [name = '', value = ''] = one.split('=')
    return { name, value }
  })
  return { name: line, methods: methods.split(','), path, matchHeaders }
}

function tableOf(...lines: readonly string[]) {
  const table = buildRouteTable(lines.map(readLine))
  return (method: string, path: string, ...headers: readonly string[]) => {
    const match = table.match(method, path, { header: (name) => findHeader(headers, name) })
    return match.kind === 'route' ? match.route.name : match.kind
  }
}

const VERSION = ['MCP-Protocol-Version', '2026-07-28']
const tools = tableOf(
  'POST /mcp',
  'POST /mcp mcp-method=tools/call',
  'POST /mcp mcp-method=tools/call mcp-name=delete_course',
  'GET /mcp',
  'POST /**',
)

t.test(
  'a repeated header matches no route, and neither does a variant spelling that servers treat as equal',
  async (t) => {
    const call = ['Mcp-Method', 'tools/call', 'Mcp-Name', 'delete_course']
    t.equal(tools('POST', '/mcp', ...VERSION, ...call, 'mcp-name', 'list_courses'), 'not_found')
    t.equal(tools('POST', '/mcp', ...VERSION, ...call, 'MCP_NAME', 'list_courses'), 'not_found')
    t.equal(tools('POST', '/mcp', ...VERSION, 'Mcp_Name', 'delete_course'), 'not_found')
    t.equal(tools('POST', '/mcp', ...VERSION, 'Mcp.Method', 'tools/call'), 'not_found')
    t.equal(tools('POST', '/mcp', ...VERSION, ...VERSION, ...call), 'not_found')
  },
)

t.test('MCP headers match no route without an MCP revision', async (t) => {
  const call = ['Mcp-Method', 'tools/call', 'Mcp-Name', 'delete_course']
  t.equal(tools('POST', '/mcp', ...call), 'not_found')
  for (const version of [
    '',
    'latest',
    '2025-06-18',
    '2026-07-27',
    '2026-7-28',
    '2026-07-28, 2026-07-28',
    '2026-07-28 ',
    '2026-07-281',
  ])
    t.equal(tools('POST', '/mcp', 'MCP-Protocol-Version', version, ...call), 'not_found', version)
})

t.test('a tool name in plain text and in Base64 is the same name', async (t) => {
  const call = (name: string) =>
    tools('POST', '/mcp', ...VERSION, 'Mcp-Method', 'tools/call', 'Mcp-Name', name)
  const strict = 'POST /mcp mcp-method=tools/call mcp-name=delete_course'
  t.equal(call('delete_course'), strict)
  t.equal(call(`=?base64?${btoa('delete_course')}?=`), strict)
  t.equal(call(`=?base64?${btoa('list_courses')}?=`), 'POST /mcp mcp-method=tools/call')
  for (const broken of [
    '=?base64?ZGVsZXRlX2NvdXJzZQ?=',
    '=?base64?!!!?=',
    '=?base64?/w==?=',
    '=?utf-8?x?=',
    '=?',
    // Some servers decode these values as delete_course, because their decoders drop a byte order mark or trim white
    // space.
    '=?base64?77u/ZGVsZXRlX2NvdXJzZQ==?=',
    `=?base64?${btoa('delete_course ')}?=`,
    `=?base64?${btoa('delete_course\0')}?=`,
    'delete_course\u00a0',
  ])
    t.equal(call(broken), 'not_found', broken)
  t.equal(call('Delete_Course'), 'POST /mcp mcp-method=tools/call', 'values are case-sensitive')
})

t.test(
  'the route with the most required headers matches first, and the route without headers matches last',
  async (t) => {
    t.equal(tools('POST', '/mcp'), 'POST /mcp')
    t.equal(tools('POST', '/mcp', ...VERSION, 'Mcp-Method', 'tools/list'), 'POST /mcp')
    t.equal(tools('POST', '/mcp', ...VERSION, 'Mcp-Method', 'tools/call'), 'POST /mcp mcp-method=tools/call')
    t.equal(tools('POST', '/mcp', ...VERSION, 'Mcp-Name', 'delete_course'), 'POST /mcp')
    t.equal(
      tools('GET', '/mcp', 'Mcp-Name', 'x', 'Mcp-Name', 'y'),
      'GET /mcp',
      'no GET route reads the header',
    )
    t.equal(tools('HEAD', '/mcp'), 'GET /mcp')
    t.equal(tools('PUT', '/mcp'), 'method_not_allowed')
  },
)

t.test('a request without a route for its headers does not match a route with a wider path', async (t) => {
  const only = tableOf('POST /a x-plan=gold', 'POST /a x-plan=silver', 'POST /**', 'GET /a x-plan=gold')
  t.equal(only('POST', '/a', 'X-Plan', 'gold'), 'POST /a x-plan=gold')
  t.equal(only('POST', '/a', 'X-Plan', 'bronze'), 'not_found')
  t.equal(only('POST', '/a'), 'not_found')
  t.equal(only('POST', '/b'), 'POST /**')
  t.equal(only('HEAD', '/a', 'x-plan', 'gold'), 'GET /a x-plan=gold')
})

t.test('each route of a path uses its own parameter names', async (t) => {
  const routes = ['GET /{a}', 'GET /{b} x-v=2'].map(readLine)
  const match = buildRouteTable(routes).match('GET', '/1', { header: () => '2' })
  t.match(match, { kind: 'route', params: { b: '1' } })
  t.throws(() => tableOf('GET /{a} x-v=2', 'GET /{b} x-v=2'), /the same method, path and required headers/)
})

t.test('findHeader() distinguishes a missing header from an ambiguous one', async (t) => {
  t.equal(findHeader([], 'x-a'), undefined)
  t.equal(findHeader(['X-A', ''], 'x-a'), '')
  t.equal(findHeader(['X-A', '1', 'x-a', '1'], 'x-a'), AMBIGUOUS)
  t.equal(findHeader(['x_a', '1'], 'x-a'), AMBIGUOUS)
  t.equal(findHeader(['x-b', '1', 'xx-a', '2'], 'x-a'), undefined)
})

function problems(...matches: readonly string[]) {
  const routes = matches
    .map((match, at) => `  - { name: r${at}, match: ${match}, anonymous: deny }\n`)
    .join('')
  const head = 'apiVersion: scopegate/v1\nkind: Policy\nname: tools\nupstream: api\nroutes:\n'
  const dir = t.testdir({ 'tools.policy.yaml': head + routes })
  return loadPolicies({ dir }).diagnostics.map(
    (one) => `${one.code} ${one.location.line}:${one.location.column} ${one.message}`,
  )
}

t.test('loadPolicies() rejects headers that a policy cannot match', async (t) => {
  const found = (headers: string) => problems(`{ methods: [POST], path: /a, headers: ${headers} }`)
  t.match(found('{ X-Auth-Subject: alice }'), [/^P312 6:64 the gateway sets x-auth-subject/])
  t.match(found('{ authorization: x }'), [/^P312 6:64 authorization holds credentials/])
  t.match(found('{ host: x }'), [/^P312 6:64 host applies to one connection/])
  t.match(found('{ x-a: b, X-A: c }'), [/^P312 6:72 the header x-a occurs twice/])
  t.match(found('{ x_a: b }'), [/^P105 6:64 "x_a" is not the name of a header/])
  t.match(found('{ x-a: 1 }'), [/^P104 6:69 /])
  t.match(found('{ x-a: " b" }'), [/^P105 6:69 /])
  t.match(found('{}'), [/^P106 /])
  t.match(found('[x-a]'), [/^P104 /])
})

t.test('loadPolicies() finds routes that no request can match', async (t) => {
  const found = (headers: string) => problems(`{ methods: [POST], path: /a, headers: ${headers} }`)
  t.match(found('{ mcp-protocol-version: latest, mcp-name: x }'), [/^P311 6:104 this route cannot match/])
  t.match(found('{ mcp-name: "=?base64?eA==?=" }'), [/^P311 6:74 .*Base64/])
  t.strictSame(found('{ mcp-protocol-version: 2026-07-28, mcp-name: x }'), [])
  t.match(problems('{ methods: [GET], path: "/a/..;x" }'), [/^P108 /])
})

t.test('loadPolicies() names both routes where header rules are ambiguous', async (t) => {
  const route = (headers: string) => `{ methods: [POST], path: /a${headers} }`
  t.match(problems(route(', headers: { x-a: "1", x-b: "2" }'), route(', headers: { X-B: "2", x-a: "1" }')), [
    /^P301 7:\d+ routes tools\/r0 and tools\/r1 both match POST \/a with x-a: 1, x-b: 2/,
  ])
  t.match(problems(route(', headers: { x-a: "1" }'), route(', headers: { x-b: "2" }')), [
    /^P310 7:\d+ a POST \/a with x-b: 2, x-a: 1 would match both tools\/r0 and tools\/r1/,
  ])
  t.strictSame(
    problems(route(', headers: { x-a: "1" }'), route(', headers: { x-a: "2", x-b: "2" }'), route('')),
    [],
  )
  t.strictSame(problems(route(', headers: { x-a: "1" }'), route(', headers: { x-a: "1", x-b: "2" }')), [])
})

t.test(
  '1,000 shuffles of routes find the same conflicts and the same routes as the reference implementation',
  async (t) => {
    const headers = fc
      .dictionary(fc.constantFrom('x-a', 'x-b', 'x-c'), fc.constantFrom('1', '2'), {
        maxKeys: 2,
        noNullPrototype: true,
      })
      .map((all) =>
        Object.entries(all)
          .map(([name, value]) => ({ name, value }))
          .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      )
    const claims = fc
      .array(
        fc.record({
          methods: fc.uniqueArray(fc.constantFrom('GET', 'HEAD', 'POST'), { minLength: 1 }),
          path: fc.constantFrom('/a', '/{x}', '/{y}', '/a/**', '/**'),
          matchHeaders: headers,
        }),
        { maxLength: 6 },
      )
      .map((routes) => routes.map((route, at) => ({ ...route, name: `p/r${at}`, at })))
    const shuffled = claims.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray(all, { minLength: all.length }),
        fc.dictionary(fc.constantFrom('x-a', 'x-b', 'x-c'), fc.constantFrom('1', '2', '3'), {
          noNullPrototype: true,
        }),
      ),
    )
    let clean = 0
    fc.assert(
      fc.property(shuffled, ([routes, other, sent]) => {
        const found = [routes, other].map((some) => findConflicts(some.map(toClaim)))
        t.strictSame(found[1], found[0])
        if (found[0]?.some(({ severity }) => severity === 'error')) return
        clean += 1
        const request = { header: (name: string) => sent[name] }
        const tables = [routes, other].map((some) => buildRouteTable(some))
        for (const path of ['/a', '/b', '/a/b', '/a/'])
          for (const method of ['GET', 'HEAD', 'POST']) {
            const [one, two] = tables.map((table) => {
              const match = table.match(method, path, request)
              return match.kind === 'route' ? match.route.name : match.kind
            })
            if (one !== two) throw new Error(`order matters for ${method} ${path}`)
            if (one !== 'method_not_allowed' && one !== slowly(routes, method, path, sent))
              throw new Error(`${method} ${path}: ${one}, not ${slowly(routes, method, path, sent)}`)
          }
      }),
      { numRuns: 1_000 },
    )
    t.ok(clean > 100, `${clean} without conflicts`)
  },
)

function toClaim(route: Line & { readonly at: number }): RouteKey {
  const template = parsePathTemplate(route.path)
  if ('problem' in template) throw new Error(template.problem)
  const location = { file: 'a.policy.yaml', line: route.at, column: 1, length: 1, text: undefined }
  return { ...route, template, headers: route.matchHeaders, readsMcpBody: false, location }
}

/**
 * A reference implementation without an index. First selects the most specific path of the routes that accept the
 * method. Of the routes with this path and matching headers, returns the route with the most headers.
 */
function slowly(
  routes: readonly Line[],
  method: string,
  path: string,
  sent: Readonly<Record<string, string>>,
): string {
  const rank = (template: string) => ['/a', '/{}', '/a/**', '/**'].indexOf(template.replace(/\{.\}/, '{}'))
  const matches = (template: string) =>
    rank(template) === 0
      ? path === '/a'
      : rank(template) === 1
        ? /^\/[^/]+$/.test(path)
        : rank(template) === 2
          ? path === '/a' || path.startsWith('/a/')
          : true
  const shapeOf = (line: Line) => line.path.replace(/\{.\}/, '{}')
  const ownHead = new Set(routes.filter((line) => line.methods.includes('HEAD')).map(shapeOf))
  const takes = (line: Line) =>
    line.methods.includes(method) ||
    (method === 'HEAD' && line.methods.includes('GET') && !ownHead.has(shapeOf(line)))
  const onPath = routes.filter((line) => matches(line.path) && takes(line))
  // For the path `/a`, a route `/a/**` ranks directly after a route `/a`. For other paths, `/{}` ranks before `/a/**`.
  const order = (line: Line) => (shapeOf(line) === '/a/**' && path === '/a' ? 0.5 : rank(line.path))
  const best = Math.min(...onPath.map(order))
  const [first] = onPath
    .filter((line) => order(line) === best)
    .filter((line) => line.matchHeaders.every(({ name, value }) => sent[name] === value))
    .toSorted((a, b) => b.matchHeaders.length - a.matchHeaders.length)
  return first?.name ?? 'not_found'
}

t.test('the same files in any order give the same policies and the same problems', async (t) => {
  const policy = (name: string, headers: string) =>
    `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nupstream: api\nroutes:\n  - { name: r, match: { methods: [GET], path: /a, headers: ${headers} } }\n`
  const files = (sets: readonly string[]) =>
    sets.map((set, at) => ({ name: `p${at}.policy.yaml`, source: { text: policy(`p${at}`, set) } }))
  for (const sets of [
    ['{ x-a: "1" }', '{ x-a: "2" }', '{ x-a: "1", x-b: "1" }', '{ x-c: "1", x-a: "3" }'],
    ['{ x-a: "1" }', '{ x-b: "1" }', '{ x-a: "1" }', '{ x-a: "1", x-c: "1" }'],
  ]) {
    const all = files(sets)
    const load = (some: typeof all) =>
      loadPolicies({
        dir: 'policies',
        sources: { folder: { names: visibleNames(some.map(({ name }) => name)) }, files: some },
      })
    const first = load(all)
    fc.assert(
      fc.property(fc.shuffledSubarray(all, { minLength: all.length }), (some) => {
        t.strictSame(load(some), first)
      }),
      { numRuns: 50 },
    )
  }
})
