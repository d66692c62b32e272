import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { decodeEntities } from '../fixtures/parse-forms.ts'

const root = findPackageRoot()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const ROW = /^\| §[^|]*\|[^|]*\| `(?<file>[^`]+)` *\| (?<name>§[^|]*?) *\|$/gm
const rows = [...read('docs/conformance.md').matchAll(ROW)].map(({ groups = {} }) => ({
  file: String(groups['file']),
  name: decodeEntities(String(groups['name'])),
}))

t.test('every test that docs/conformance.md names exists exactly once', async (t) => {
  t.ok(rows.length > 80, `${rows.length} rows`)
  for (const { file, name } of rows) t.equal(read(file).split(`'${name}'`).length, 2, `${file}: ${name}`)
  t.equal(new Set(rows.map(({ name }) => name)).size, rows.length, 'every row is unique')
})

t.test('docs/conformance.md names every test of docs/interface.md', async (t) => {
  const listed = new Set(rows.map(({ file, name }) => `${file} ${name}`))
  for (const file of readdirSync(join(root, 'test', 'rfc')).filter((name) => name.startsWith('interface-')))
    for (const [, name] of read(`test/rfc/${file}`).matchAll(/'(§[^']+)'/g))
      t.ok(listed.has(`test/rfc/${file} ${name}`), `${file}: ${name}`)
})
