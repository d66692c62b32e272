import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readScopeCatalogue } from '../../platform/config/read-scope-catalogue.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const ROOT = findPackageRoot()
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const PAGE = read('docs/interface.md')
const FOLDERS = ['authorization-server', 'gateway', 'oauth', 'platform', 'policy-engine', 'test']

function sectionOf(title: string): string {
  const [, section = ''] = PAGE.split(`### ${title}\n`)
  return section.split(/^##/m)[0] ?? ''
}

t.test('every section of docs/interface.md that a comment cites exists', async (t) => {
  const sections = new Set([...PAGE.matchAll(/^##+ ([\d.]+) /gm)].map(([, number]) => number))
  const cited = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('interface.test.ts'))
      .flatMap((name) => [
        ...read(join(folder, name)).matchAll(/docs\/interface\.md \(?sections? (\d+(?:\.\d+)*)/g),
      ]),
  ).map(([, number]) => number)
  t.ok(cited.length > 8, `${cited.length} citations`)
  for (const number of cited) t.ok(sections.has(number), `section ${number}`)
})

t.test('docs/interface.md names each status and code of the rejections of the gateway', async (t) => {
  const pairs = new Set<string>()
  for (const [, codes = '', statuses = ''] of sectionOf('7.5 Codes of the gateway').matchAll(
    /^\| (`[^|]+) \| ([\d, ]+) \|$/gm,
  ))
    for (const [, code] of codes.matchAll(/`(\w+)`/g))
      for (const [status] of statuses.matchAll(/\d{3}/g)) pairs.add(`${status} ${code}`)
  const rejections = [...read('docs/rejections.md').matchAll(/^\| `\w+` \| (\d{3}) \| `(\w+)` \|/gm)]
  t.same(pairs, new Set(rejections.map(([, status, code]) => `${status} ${code}`)))
})

t.test('docs/interface.md lists each family of the shipped scope catalogue with its scopes', async (t) => {
  const rows = sectionOf('5.10 Scopes').matchAll(/^\| `(\w+)` \| (yes)? ?\| ?(yes)?/gm)
  const listed = [...rows].flatMap(([, family, reads, writes]) => [
    ...(reads === undefined ? [] : [`${family}:read`]),
    ...(writes === undefined ? [] : [`${family}:write`]),
  ])
  const catalogue = [...readScopeCatalogue({ file: join(ROOT, 'config/scopes.yaml') }).keys()]
  t.same(
    listed,
    catalogue.filter((name) => name.includes(':')),
  )
})
