import fc from 'fast-check'
import t from 'tap'
import { canonicalTarget } from '../../../policy-engine/match/canonical-target.ts'

const RULES = { method: 'GET', origin: 'https://api.test', limitBytes: 200 }

const REJECTED = [
  ['', 'an empty target'],
  ['/..', 'a dot segment'],
  ['/.', 'a dot segment'],
  ['/./admin', 'a dot segment'],
  ['/pub/../admin', 'a dot segment'],
  ['/pub/..', 'a dot segment at the end'],
  ['/%2e/admin', 'an encoded dot segment'],
  ['/pub/%2e%2e/admin', 'an encoded dot segment'],
  ['/pub/.%2E/admin', 'a dot segment with one encoded dot'],
  ['/pub/..;/admin', 'a dot segment with path parameters'],
  ['/pub/..;a=b/admin', 'a dot segment with path parameters'],
  ['/pub/%2e%2e;/admin', 'an encoded dot segment with path parameters'],
  ['/pub/..%3b/admin', 'a dot segment with an encoded semicolon'],
  ['//admin', 'an empty segment'],
  ['/pub//admin', 'an empty segment'],
  ['///', 'empty segments'],
  ['/admin%2fx', 'an encoded slash'],
  ['/admin%2Fx', 'an encoded slash'],
  ['/pub/..%2fadmin', 'an encoded slash'],
  ['/pub/%5c..%5cadmin', 'an encoded backslash'],
  ['/pub\\..\\admin', 'a backslash'],
  ['/pub/%00', 'NUL'],
  ['/pub/%0a', 'a line feed'],
  ['/pub/%1f', 'a control byte'],
  ['/pub/%7f', 'DEL'],
  ['/pub/%zz', 'a percent sign without hexadecimal digits'],
  ['/pub/%', 'a percent sign at the end'],
  ['/pub/%4', 'a percent sign with one hexadecimal digit'],
  ['/pub/%u0041', 'a %u escape'],
  ['/pub/%c0%ae', 'overlong UTF-8'],
  ['/pub/%c3', 'truncated UTF-8'],
  ['/pub/%ed%a0%80', 'a surrogate'],
  ['/pub/%ff', 'a byte that UTF-8 does not contain'],
  ['/pub/ü', 'a byte outside ASCII'],
  ['/pub/a b', 'a space'],
  ['/pub#fragment', 'a fragment'],
  ['/pub?x#fragment', 'a fragment after the query'],
  ['/pub?x=\u0000', 'NUL in the query'],
  ['/pub?x=\u00ff', 'a byte outside ASCII in the query'],
  ['/pub?x y', 'a space in the query'],
  ['*', 'the asterisk form with a method other than OPTIONS'],
  ['api.test:443', 'the authority form'],
  ['http://api.test/pub', 'the absolute form with another scheme'],
  ['https://evil.test/pub', 'the absolute form with another host'],
  ['https://api.test.evil/pub', 'the absolute form with a longer host'],
  ['https://api.test@evil/pub', 'the absolute form with user info'],
  ['https://api.test', 'the absolute form without a path'],
  ['https://api.test/../x', 'the absolute form with a dot segment'],
  ['https://api.testhttps://api.test/x', 'two absolute forms'],
] as const

for (const [target, what] of REJECTED)
  t.test(`canonicalTarget() rejects ${what}: ${JSON.stringify(target)}`, async (t) => {
    t.match(canonicalTarget(target, RULES), { rejected: 'request_malformed' })
  })

t.test('canonicalTarget() rejects a target that is too long with a separate reason', async (t) => {
  t.same(canonicalTarget(`/${'a'.repeat(200)}`, RULES), { rejected: 'target_too_long', limitBytes: 200 })
  t.match(canonicalTarget(`/${'a'.repeat(199)}`, RULES), { query: '' })
})

const KEPT = [
  ['/', '/', ''],
  ['/a/', '/a/', ''],
  ['/a/b.json', '/a/b.json', ''],
  ['/.hidden', '/.hidden', ''],
  ['/...', '/...', ''],
  ['/a;b=c/d', '/a;b=c/d', ''],
  ['/ADMIN', '/ADMIN', ''],
  ['/%61dmin', '/admin', ''],
  ['/%7Euser/%2D%5f', '/~user/-_', ''],
  ['/caf%c3%a9', '/caf%C3%A9', ''],
  ['/%ef%bc%8f', '/%EF%BC%8F', ''],
  ['/a%20b%3a', '/a%20b%3A', ''],
  ['/a%252e%252e%252fb', '/a%252e%252e%252fb', ''],
  ['/a?b=/../c&d=%2f%zz\\', '/a', '?b=/../c&d=%2f%zz\\'],
  ['/a?', '/a', '?'],
  ['/a?b?c', '/a', '?b?c'],
  ['https://API.test/a?b', '/a', '?b'],
] as const

for (const [target, path, query] of KEPT)
  t.test(`canonicalTarget() canonicalizes ${target} to ${path}${query}`, async (t) => {
    t.same(canonicalTarget(target, RULES), { path, query })
  })

t.test('canonicalTarget() accepts the asterisk for OPTIONS', async (t) => {
  t.same(canonicalTarget('*', { ...RULES, method: 'OPTIONS' }), { path: '*', query: '' })
})

t.test('canonicalTarget() is idempotent', async () => {
  const piece = fc.constantFrom(...'/.%2eEfF5cC;:aA0?#*\\'.split(''), '%2e', '%41', '%c3%a9', '..', '//')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const once = canonicalTarget(`/${pieces.join('')}`, RULES)
      if ('rejected' in once) return true
      const twice = canonicalTarget(once.path + once.query, RULES)
      return JSON.stringify(twice) === JSON.stringify(once)
    }),
    { numRuns: 5_000 },
  )
})

t.test('canonicalTarget() never returns a path that a URL parser reads differently', async () => {
  const piece = fc.constantFrom('/', '.', '%2e', '%2E', 'a', '%61', ';', '%3b', '..', '%25', '2e', '\\', '~')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 16 }), (pieces) => {
      const target = canonicalTarget(`/${pieces.join('')}`, RULES)
      return 'rejected' in target || new URL(`https://api.test${target.path}`).pathname === target.path
    }),
    { numRuns: 5_000 },
  )
})
