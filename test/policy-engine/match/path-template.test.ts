import t from 'tap'
import { parsePathTemplate, shapeOf } from '../../../policy-engine/match/path-template.ts'

t.test(
  'parsePathTemplate() rejects templates that no canonical request can match, and suggests a fix',
  async (t) => {
    const cases: Readonly<Record<string, RegExp>> = {
      '': /start with \//,
      'api/x': /start with .*"\/api\/x"/,
      '*': /start with/,
      '/a//b': /empty segments/,
      '/a//': /empty segments/,
      '//**': /empty segments/,
      '/./a': /dot segments/,
      '/a/..': /dot segments/,
      '/%2e%2e/a': /not allowed in a path/,
      '/a%2Fb': /not allowed in a path/,
      '/a%5cb': /not allowed in a path/,
      '/a\\b': /not allowed in a path/,
      '/a%00': /not allowed in a path/,
      '/a%7F': /not allowed in a path/,
      '/100%': /not allowed in a path/,
      '/%zz': /not allowed in a path/,
      '/\ud800': /not allowed in a path/,
      '/%61': /write a/,
      '/%c3%a9': /write %C3%A9/,
      '/é': /write %C3%A9/,
      '/a b': /write a%20b/,
      '/a?b=c': /query.*before \?/,
      '/a#b': /fragment.*before #/,
      '/:id': /write \{id\}/,
      '/a*': /only wildcard is/,
      '/**/a': /only at the end/,
      '/***': /only wildcard is/,
      '/{}': /complete segment/,
      '/{a-b}': /complete segment/,
      '/{1}': /complete segment/,
      '/x{a}': /complete segment/,
      '/{a}{b}': /complete segment/,
      '/{a}/{a}': /twice/,
      [`/${'a'.repeat(3_000)}`]: /at most 2048/,
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

t.test('shapeOf() removes only the names of parameters', async (t) => {
  const shape = (path: string) => {
    const template = parsePathTemplate(path)
    return 'problem' in template ? template.problem : shapeOf(template)
  }
  t.equal(shape('/a/{x}/b/**'), shape('/a/{y}/b/**'))
  for (const other of ['/a/{x}/b', '/a/{x}/b/', '/a/x/b/**', '/A/{x}/b/**'])
    t.not(shape(other), shape('/a/{x}/b/**'), other)
})
