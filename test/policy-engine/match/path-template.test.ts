import t from 'tap'
import { parsePathTemplate, shapeOf } from '../../../policy-engine/match/path-template.ts'

t.test(
  'parsePathTemplate() rejects templates that no canonical request can match, and suggests a fix',
  async (t) => {
    const cases: Readonly<Record<string, RegExp>> = {
      '': /starts with \//,
      'api/x': /starts with .*"\/api\/x"/,
      '*': /starts with/,
      '/a//b': /two slashes/,
      '/a//': /two slashes/,
      '//**': /two slashes/,
      '/./a': /dot segments/,
      '/a/..': /dot segments/,
      '/%2e%2e/a': /cannot stand/,
      '/a%2Fb': /cannot stand/,
      '/a%5cb': /cannot stand/,
      '/a\\b': /cannot stand/,
      '/a%00': /cannot stand/,
      '/a%7F': /cannot stand/,
      '/100%': /cannot stand/,
      '/%zz': /cannot stand/,
      '/\ud800': /cannot stand/,
      '/%61': /write a/,
      '/%c3%a9': /write %C3%A9/,
      '/é': /write %C3%A9/,
      '/a b': /write a%20b/,
      '/a?b=c': /no query.*before \?/,
      '/a#b': /no fragment.*before #/,
      '/:id': /write \{id\}/,
      '/a*': /no other wildcards/,
      '/**/a': /only at the end/,
      '/***': /no other wildcards/,
      '/{}': /whole segment/,
      '/{a-b}': /whole segment/,
      '/{1}': /whole segment/,
      '/x{a}': /whole segment/,
      '/{a}{b}': /whole segment/,
      '/{a}/{a}': /twice/,
      [`/${'a'.repeat(3_000)}`]: /longer than/,
    }
    for (const [path, words] of Object.entries(cases)) {
      const found = parsePathTemplate(path)
      t.match('problem' in found ? `${found.problem}; ${found.hint}` : 'accepted', words, path)
    }
  },
)

t.test('parsePathTemplate() accepts literals, parameters, a final ** and a trailing slash', async (t) => {
  for (const path of [
    '/',
    '/a',
    '/a/',
    '/**',
    '/a/{b}/c/**',
    '/a.b-c_d~e',
    "/!$&'()+,;=:@".replace('/!', '/a!'),
    '/%C3%A9%20',
  ])
    t.notOk('problem' in parsePathTemplate(path), path)
  t.strictSame(parsePathTemplate('/a/{b}/**'), {
    segments: [{ literal: 'a' }, { parameter: 'b' }],
    below: true,
  })
})

t.test('shapeOf() removes the names of parameters and nothing else', async (t) => {
  const shape = (path: string) => {
    const template = parsePathTemplate(path)
    return 'problem' in template ? template.problem : shapeOf(template)
  }
  t.equal(shape('/a/{x}/b/**'), shape('/a/{y}/b/**'))
  for (const other of ['/a/{x}/b', '/a/{x}/b/', '/a/x/b/**', '/A/{x}/b/**'])
    t.not(shape(other), shape('/a/{x}/b/**'), other)
})
