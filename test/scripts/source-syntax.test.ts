import t from 'tap'
import { allBraces, declarationOf, keysOf, objectsIn, parseSource } from '../../scripts/source-syntax.ts'

t.test('keysOf returns nested and spread keys, and no keys of patterns, blocks or types', async (t) => {
  const source = `
    const other = 1 // { comment: 1 }
    function print({ left, right }: { readonly left: string; readonly right: string }): object {
      const { code } = find(/[{'"]/g, \`\${{ a: 1 }.a} { b: 1 }\`)
      return {
        code,
        'log.place': left === '' ? null : { file: left, line: 1 },
        related: right.map(({ message }) => ({ message })),
        ...(left === '' ? {} : { cure: code }),
        ...rest,
      }
    }`
  const objects = objectsIn(declarationOf(parseSource(source), 'print'))
  t.equal(objects.length, 1)
  t.same(
    keysOf(objects[0] ?? [], (name) => [`keys of ${name}`]),
    [
      'code',
      'log.place',
      'log.place.file',
      'log.place.line',
      'related',
      'related.message',
      'cure',
      'keys of rest',
    ],
  )
})

t.test('keysOf returns the members of a type', async (t) => {
  const source =
    "type Change = { readonly kind: 'new' | 'gone'; readonly paths?: readonly string[] }\nconst x = { y: 1 }"
  const [members = []] = allBraces(declarationOf(parseSource(source), 'Change'))
  t.same(keysOf(members), ['kind', 'paths'])
})

t.test('declarationOf fails for an unknown name', async (t) => {
  t.throws(() => declarationOf(parseSource('const a = 1'), 'b'), { message: /declaration of b is missing/ })
})
