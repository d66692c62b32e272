import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'

// docs/faults.md states the behavior for each fault, and the test that shows the behavior. Each of these tests must
// exist.
const root = findPackageRoot()
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/faults.md')
const rows = [...page.matchAll(/^\| F(\d+) \|.*\| ([^|]+) \|$/gm)].map(([, number, tried = '']) => ({
  number: Number(number),
  tried: [...tried.matchAll(/`([^`]+)`/g)].map(([, one = '']) => one),
}))

t.test('docs/faults.md has one row for each fault class', async (t) => {
  const wanted = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
    30, 31, 32, 33, 34, 35, 36, 37, 40,
  ]
  t.same(
    rows.map(({ number }) => number).sort((one, other) => one - other),
    wanted,
  )
})

t.test('each row names existing tests and commands', async (t) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  for (const { number, tried } of rows) {
    const tests = tried.filter((one) => one.startsWith('test/'))
    t.ok(tests.length > 0, `F${number} has a test`)
    for (const file of tests) t.ok(file.endsWith('.test.ts') && existsSync(join(root, file)), file)
    for (const command of tried.filter((one) => !one.startsWith('test/')))
      t.ok(command.replace('npm run ', '') in scripts, command)
  }
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
