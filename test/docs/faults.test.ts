import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

// For each fault, docs/faults.md and docs/storage.md state the behavior, and the tests that show the behavior. Each of
// these tests must exist.
const root = findPackageRoot()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/faults.md')
const PAGES = ['docs/faults.md', 'docs/storage.md']

type Row = { readonly name: string; readonly tests: readonly string[] }

/** Returns the rows of all tables on a page with the last column `tests`. */
function rowsOf(path: string): readonly Row[] {
  const rows: Row[] = []
  let hasTests = false
  for (const line of read(path).split('\n')) {
    if (!line.startsWith('|')) hasTests = false
    else if (/\| tests \|$/.test(line)) hasTests = true
    else if (hasTests && !/^\|[ |-]+$/.test(line)) {
      const cells = line.split('|').slice(1, -1)
      const tests = [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, one = '']) => one)
      rows.push({ name: `${path}: ${cells[0]?.trim()}`, tests })
    }
  }
  return rows
}

t.test('docs/faults.md has one row for each fault class', async (t) => {
  const classes = [...page.matchAll(/^\| F(\d+) \|/gm)].map(([, number]) => Number(number))
  const wanted = Array.from({ length: 55 }, (_, index) => index + 1)
  t.same(
    classes.sort((one, other) => one - other),
    wanted,
  )
})

t.test('each row names existing tests and commands', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const exists = (one: string): boolean =>
    one.startsWith('npm run ')
      ? one.slice('npm run '.length) in scripts
      : /^test\/.*\.test\.ts$/.test(one) && existsSync(join(root, one))
  const rows = PAGES.flatMap(rowsOf)
  t.ok(rows.length >= 50, `${rows.length} rows`)
  for (const { name, tests } of rows) {
    t.ok(tests.length > 0, `${name} has a test`)
    for (const one of tests) t.ok(exists(one), `${name}: ${one}`)
  }
  for (const path of PAGES)
    for (const [, one = ''] of read(path).matchAll(/`(npm run [a-z:]+|test\/[^`]+)`/g))
      t.ok(one.endsWith(':') || exists(one), `${path}: ${one}`)
})

t.test('the rows of each table name tests, except measurements', async (t) => {
  const heads = PAGES.flatMap((path) =>
    [...read(path).matchAll(/^(\|.*\|)\n\| ?-/gm)].map(([, head = '']) => head),
  )
  t.match(
    heads.filter((head) => !head.endsWith('| tests |')),
    [/^\| state of Redis, for 20 s \|/],
  )
})

t.test('each metric and event on the page exists in the code', async (t) => {
  const code = globSync(
    ['gateway/**/*.ts', 'platform/**/*.ts', 'policy-engine/**/*.ts', 'authorization-server/**/*.ts'],
    { cwd: root },
  )
    .map(read)
    .join('\n')
  for (const [, name = ''] of page.matchAll(/`(scopegate_[a-z_]+)/g)) t.ok(code.includes(name), name)
  for (const [, event = ''] of page.matchAll(/`([a-z]+(?:_[a-z]+)+)`(?=[^|`]*in the log)/g))
    t.ok(code.includes(`'${event}'`), event)
})
