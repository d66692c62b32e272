import { existsSync, readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { readRepositoryFile } from '../fixtures/repository-texts.ts'

const EXAMPLES = resolve(import.meta.dirname, '../../examples')
const folders = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

t.test('each example has a README file, and a row in examples/README.md', async (t) => {
  const listed = [
    ...readRepositoryFile('examples/README.md').matchAll(/^\| \[([a-z-]+)\]\(\1\/README\.md\)/gm),
  ]
  t.same(listed.map(([, name]) => name).toSorted(), folders.toSorted())
  for (const name of folders) t.ok(existsSync(resolve(EXAMPLES, name, 'README.md')), name)
})

t.test('each named test exists and reads or runs the example', async (t) => {
  const rows = [...readRepositoryFile('examples/README.md').matchAll(/^\| \[([a-z-]+)\].* (test\/\S+) \|$/gm)]
  t.equal(rows.length, folders.length)
  for (const [, name = '', test = ''] of rows) {
    const files = test.endsWith('.ts')
      ? [test]
      : readdirSync(resolve(EXAMPLES, '..', test)).map((one) => `${test}/${one}`)
    const mentions = files.some((file) => readRepositoryFile(file).includes(name))
    t.ok(mentions, `${test} names ${name}`)
  }
})
