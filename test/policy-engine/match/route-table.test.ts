import fc from 'fast-check'
import t from 'tap'
import { isReservedPath } from '../../../policy-engine/match/reserved-paths.ts'
import { buildRouteTable, type Match } from '../../../policy-engine/match/route-table.ts'

type Line = { readonly methods: readonly string[]; readonly path: string }

/** The lines have the format `GET,POST /path`. */
function tableOf(...lines: readonly string[]) {
  return buildRouteTable(lines.map(readLine))
}

function readLine(line: string): Line {
  const [methods = '', path = ''] = line.split(' ')
  return { methods: methods.split(','), path }
}

function say(match: Match<Line>): string {
  if (match.kind === 'method_not_allowed') return `405 ${match.allow.join(',')}`
  if (match.kind === 'not_found') return '404'
  const params = Object.entries(match.params).map(([name, value]) => ` ${name}=${value}`)
  return `${match.route.methods.join(',')} ${match.route.path}${params.join('')}`
}

t.test('match() does not decode percent-encoded characters', async (t) => {
  const table = tableOf('GET /a/{x}', 'GET /a/b', 'GET /a%20b', 'GET /files/**')
  t.equal(say(table.match('GET', '/a/%62')), 'GET /a/{x} x=%62')
  t.equal(say(table.match('GET', '/a/%2562')), 'GET /a/{x} x=%2562')
  t.equal(say(table.match('GET', '/a/%252Fb')), 'GET /a/{x} x=%252Fb')
  t.equal(say(table.match('GET', '/a%20b')), 'GET /a%20b')
  t.equal(say(table.match('GET', '/a b')), '404')
  t.equal(say(table.match('GET', '/%61/b')), '404')
  t.equal(say(table.match('GET', '/a/%')), 'GET /a/{x} x=%')
  t.equal(say(table.match('GET', '/a/%zz')), 'GET /a/{x} x=%zz')
  t.equal(say(table.match('GET', '/files/a%2Fb/%252e')), 'GET /files/** **=a%2Fb/%252e')
})

t.test('match() treats ?, # and ; as ordinary characters', async (t) => {
  const table = tableOf('GET /a/b', 'GET /a/{x}')
  t.equal(say(table.match('GET', '/a/b?c')), 'GET /a/{x} x=b?c')
  t.equal(say(table.match('GET', '/a/b#c')), 'GET /a/{x} x=b#c')
  t.equal(say(table.match('GET', '/a/b;c')), 'GET /a/{x} x=b;c')
})

t.test('match() returns parameters without a prototype', async (t) => {
  const table = tableOf('GET /a/{__proto__}/{constructor}')
  const found = table.match('GET', '/a/x/y')
  const params = found.kind === 'route' ? found.params : {}
  t.equal(Object.getPrototypeOf(params), null)
  t.strictSame(Object.entries(params), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
})

t.test('match() rejects a method that no route lists', async (t) => {
  const table = tableOf('POST /a')
  for (const method of [
    'post',
    'PoST',
    'BREW',
    '__proto__',
    'constructor',
    '',
    'CONNECT',
    'TRACE',
    'OPTIONS',
    'GET',
    'HEAD',
  ])
    t.equal(say(table.match(method, '/a')), '405 POST', method)
})

t.test('match() finds no route for targets that are not paths', async (t) => {
  const table = tableOf('GET /**')
  for (const path of ['', '*', 'a', 'http://a/b', '\\a']) t.equal(say(table.match('GET', path)), '404', path)
})

t.test('match() distinguishes case and trailing slashes', async (t) => {
  const table = tableOf('GET /a', 'GET /b/', 'GET /c/{x}', 'GET /d/**')
  t.equal(say(table.match('GET', '/A')), '404')
  t.equal(say(table.match('GET', '/a/')), '404')
  t.equal(say(table.match('GET', '/b')), '404')
  t.equal(say(table.match('GET', '/b/')), 'GET /b/')
  t.equal(say(table.match('GET', '/c/')), '404', 'a parameter is never empty')
  t.equal(say(table.match('GET', '/c/1/')), '404')
  t.equal(say(table.match('GET', '/d')), 'GET /d/**')
  t.equal(say(table.match('GET', '/d/')), 'GET /d/** **=')
  t.equal(say(table.match('GET', '/d/e/')), 'GET /d/** **=e/')
  t.equal(say(table.match('GET', '/dd')), '404', '** matches below the segment, not a text prefix')
})

t.test(
  'match() prefers a literal to a parameter, and a parameter to **, starting with the first segment',
  async (t) => {
    const table = tableOf(
      'GET /a/b/c',
      'GET /a/{x}/d',
      'GET /a/{x}/**',
      'GET /a/**',
      'GET /{y}/b/c',
      'GET /**',
    )
    t.equal(say(table.match('GET', '/a/b/c')), 'GET /a/b/c')
    t.equal(say(table.match('GET', '/a/b/d')), 'GET /a/{x}/d x=b')
    t.equal(say(table.match('GET', '/a/b/e')), 'GET /a/{x}/** x=b **=e')
    t.equal(say(table.match('GET', '/a/b')), 'GET /a/{x}/** x=b')
    t.equal(say(table.match('GET', '/a/')), 'GET /a/** **=')
    t.equal(say(table.match('GET', '/a')), 'GET /a/**')
    t.equal(say(table.match('GET', '/z/b/c')), 'GET /{y}/b/c y=z')
    t.equal(say(table.match('GET', '/z/b/d')), 'GET /** **=z/b/d')
    t.equal(say(table.match('GET', '/')), 'GET /** **=')
  },
)

t.test('match() continues with a wider route when a narrower route does not list the method', async (t) => {
  const table = tableOf('GET /a/{x}', 'POST /a/**', 'PUT /a/b', 'DELETE /c')
  t.equal(say(table.match('POST', '/a/1')), 'POST /a/** **=1')
  t.equal(say(table.match('GET', '/a/b')), 'GET /a/{x} x=b')
  t.equal(say(table.match('PUT', '/a/b')), 'PUT /a/b')
})

t.test(
  'match() returns method_not_allowed with the methods of every route that matches the path',
  async (t) => {
    const table = tableOf('GET /a/{x}', 'POST /a/**', 'PUT /a/b', 'DELETE /c')
    t.equal(say(table.match('DELETE', '/a/b')), '405 GET,HEAD,POST,PUT')
    t.equal(say(table.match('DELETE', '/a/1')), '405 GET,HEAD,POST')
    t.equal(say(table.match('DELETE', '/a/1/2')), '405 POST')
    t.equal(say(table.match('GET', '/c')), '405 DELETE')
    t.equal(say(table.match('GET', '/d')), '404')
  },
)

t.test('match() uses the route of GET for HEAD if no route lists HEAD', async (t) => {
  const table = tableOf('GET /a/{x}', 'POST /a/{x}', 'PUT /b', 'POST /c', 'GET /c/**')
  t.equal(say(table.match('HEAD', '/a/1')), 'GET /a/{x} x=1')
  t.equal(say(table.match('HEAD', '/b')), '405 PUT')
  t.equal(say(table.match('HEAD', '/c/d/e')), 'GET /c/** **=d/e')
  t.equal(say(table.match('DELETE', '/a/1')), '405 GET,HEAD,POST')
  const withoutGet = tableOf('POST /a')
  t.equal(say(withoutGet.match('HEAD', '/a')), '405 POST')
  t.equal(say(withoutGet.match('PUT', '/a')), '405 POST')
})

t.test('match() uses the route of GET for HEAD unless a route of the same shape lists HEAD', async (t) => {
  const table = tableOf('GET /a/{x}', 'HEAD /a/{y}', 'GET /b/**', 'HEAD /b', 'GET /c', 'HEAD /c/**')
  t.equal(say(table.match('HEAD', '/a/1')), 'HEAD /a/{y} y=1')
  t.equal(say(table.match('HEAD', '/b')), 'HEAD /b')
  t.equal(say(table.match('GET', '/b')), 'GET /b/**')
  t.equal(say(table.match('HEAD', '/b/1')), 'GET /b/** **=1')
  t.equal(say(table.match('HEAD', '/c')), 'GET /c')
  t.equal(say(table.match('HEAD', '/c/1')), 'HEAD /c/** **=1')
})

t.test('buildRouteTable() treats characters with a meaning in the router as literals', async (t) => {
  const table = tableOf('GET /a:b', 'GET /c::d', 'GET /d(e)', 'GET /f-g.h', 'GET /{x}/i:j')
  for (const path of ['/a:b', '/c::d', '/d(e)', '/f-g.h'])
    t.equal(say(table.match('GET', path)), `GET ${path}`)
  t.equal(say(table.match('GET', '/a:c')), '404')
  t.equal(say(table.match('GET', '/1/i:j')), 'GET /{x}/i:j x=1')
})

t.test('buildRouteTable() throws on a template that loadPolicies rejects', async (t) => {
  t.throws(() => tableOf('GET a'), /start with/)
  t.throws(() => tableOf('GET /a/**/b'), /only at the end/)
  t.throws(() => tableOf('GET /a/{x}', 'GET /a/{y}'), /the same method, path and required headers/)
})

t.test(
  'buildRouteTable() builds the same table from any order and agrees with the reference implementation',
  async (t) => {
    const segment = fc.constantFrom('a', 'b', 'ab', '{x}', '{y}')
    const path = fc
      .tuple(fc.uniqueArray(segment, { maxLength: 3 }), fc.constantFrom('', '/', '/**'))
      .map(([segments, end]) => `/${segments.join('/')}${segments.length === 0 ? end.slice(1) : end}`)
    const routes = fc.uniqueArray(
      fc.record({ path, methods: fc.uniqueArray(fc.constantFrom('GET', 'HEAD', 'POST'), { minLength: 1 }) }),
      { maxLength: 8, selector: (route) => shape(route.path) },
    )
    const shuffled = routes.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
    )
    const requests = [
      '/',
      '/a',
      '/b',
      '/ab',
      '/a/',
      '/a/b',
      '/b/a',
      '/ab/a',
      '/a/c',
      '/c/d/e',
      '/a/b/ab',
      '/a/b/',
      '/c/b/ab',
      '/a/b/ab/c',
    ]
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        const [first, second] = [buildRouteTable(one), buildRouteTable(other)]
        for (const request of requests) {
          for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
            const found = say(first.match(method, request))
            if (found !== say(second.match(method, request)))
              throw new Error(`order matters for ${method} ${request}`)
            const expected = bySpecification(one, method, request)
            if (found.replace(/ [xy*]+=.*$/, '') !== expected)
              throw new Error(`${method} ${request}: ${found}, not ${expected}`)
          }
        }
      }),
      { numRuns: 1_000 },
    )
    t.pass('1,000 tables')
  },
)

t.test('a wide route does not match reserved paths', async (t) => {
  const table = buildRouteTable<Line & { readonly excludes?: typeof isReservedPath }>([
    { ...readLine('POST,OPTIONS /api/oauth/token') },
    { ...readLine('GET /openapi.json') },
    { ...readLine('GET,OPTIONS,DELETE /**'), excludes: isReservedPath },
    { ...readLine('PATCH /{a}/{b}'), excludes: isReservedPath },
  ])
  t.equal(say(table.match('GET', '/api/oauth/token')), '405 OPTIONS,POST')
  t.equal(say(table.match('PUT', '/api/oauth/token')), '405 OPTIONS,POST')
  t.equal(say(table.match('OPTIONS', '/openapi.json')), '405 GET,HEAD')
  t.equal(say(table.match('DELETE', '/openapi.json')), '405 GET,HEAD')
  for (const method of ['GET', 'PATCH', 'PUT', 'OPTIONS'])
    t.equal(say(table.match(method, '/internal/revocations')), '404', method)
  t.strictSame([...table.routesAt('/api/oauth/token').keys()], ['OPTIONS', 'POST'])
  t.strictSame([...table.routesAt('/internal/revocations').keys()], [])
  t.equal(say(table.match('PUT', '/api/other')), '405 DELETE,GET,HEAD,OPTIONS,PATCH')
})

t.test('match() terminates on long paths with many near matches', async (t) => {
  const table = tableOf(
    'GET /a/{x}/b/{y}/c',
    'GET /a/{x}/{y}/{z}/d',
    'GET /a/**',
    'POST /{a}/{b}/{c}/{d}/{e}',
  )
  for (const path of [
    `/a/${'b/'.repeat(25_000)}`,
    `/a/${'%'.repeat(50_000)}`,
    `/${'a'.repeat(50_000)}`,
    '/'.repeat(50_000),
  ])
    t.ok(table.match('PUT', path).kind)
})

function shape(path: string): string {
  return path.replace(/\{.\}/g, '{}')
}

/**
 * A simple implementation of docs/policies.md. Finds all routes that match. Returns the most specific route, 404 or
 * 405.
 */
function bySpecification(routes: readonly Line[], method: string, request: string): string {
  const onPath = routes.filter((route) => specificity(route.path, request) !== undefined)
  const explicitHead = new Set(
    routes.filter((route) => route.methods.includes('HEAD')).map((route) => shape(route.path)),
  )
  const methodsOf = (route: Line) =>
    route.methods.includes('GET') && !explicitHead.has(shape(route.path))
      ? [...route.methods, 'HEAD']
      : route.methods
  const matching = onPath.filter((route) => methodsOf(route).includes(method))
  const [best] = matching.toSorted((a, b) =>
    (specificity(a.path, request) ?? '') < (specificity(b.path, request) ?? '') ? -1 : 1,
  )
  if (best !== undefined) return `${best.methods.join(',')} ${best.path}`
  const allow = [...new Set(onPath.flatMap(methodsOf))].toSorted()
  return allow.length === 0 ? '404' : `405 ${allow.join(',')}`
}

/**
 * Returns one letter for each segment of a template: e end, l literal, p parameter, w `**`. An earlier letter of the
 * alphabet is more specific. Returns undefined if the path does not match.
 */
function specificity(template: string, request: string): string | undefined {
  const wanted = request.slice(1).split('/')
  const parts = template.slice(1).split('/')
  const below = parts.at(-1) === '**'
  if (below) parts.pop()
  if (below ? wanted.length < parts.length : wanted.length !== parts.length) return undefined
  let kinds = ''
  for (const [index, part] of parts.entries()) {
    const parameter = part.startsWith('{')
    if (parameter ? wanted[index] === '' : part !== wanted[index]) return undefined
    kinds += parameter ? 'p' : 'l'
  }
  return `${kinds}${below ? 'w' : 'e'}`
}
