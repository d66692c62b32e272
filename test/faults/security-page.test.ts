import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

// For each guarantee, SECURITY.md names the test that shows the guarantee. Each of these tests must exist.
const root = findPackageRoot()
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8')
const rows = [...page.matchAll(/^\| (\d+) \|.*\| ([^|]+) \|$/gm)].map(([, number, tried = '']) => ({
  number: Number(number),
  files: [...tried.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
}))

const between = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at)

t.test('SECURITY.md has one row for each attack class, in order', async (t) => {
  t.same(
    rows.map(({ number }) => number),
    [...between(1, 55), 67, 69, ...between(75, 81)],
  )
})

t.test('each row names its tests, and every path on the page exists', async (t) => {
  for (const { number, files } of rows) {
    t.ok(files.length > 0, `class ${number}`)
    for (const file of files) t.match(file, /^test\/.+\.test\.ts$/, `class ${number}`)
  }
  for (const [, path = ''] of page.matchAll(/[`(]((?:test|docs)\/[\w./-]+)[`)]/g))
    t.ok(existsSync(join(root, path)), path)
})
