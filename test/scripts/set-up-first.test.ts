import { readFileSync } from 'node:fs'
import t from 'tap'

const { scripts }: { readonly scripts: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync('package.json', 'utf8'),
)

t.test('each soak command sets up a new checkout first', async (t) => {
  const soaks = Object.keys(scripts).filter((name) => name.startsWith('soak:'))
  t.ok(soaks.length > 20, `${soaks.length} commands`)
  for (const name of soaks) t.match(scripts[`pre${name}`], /^node scripts\/set-up\.js --tests\b/, name)
})
