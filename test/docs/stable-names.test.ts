import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { stableNames } from '../../scripts/stable-names.ts'

// Scripts of operators depend on these names (docs/stable-names.md). If you remove or rename a name on purpose, change
// the list and announce the change in CHANGELOG.md.
const LIST = 'test/docs/stable-names.json'
const listed = JSON.parse(readFileSync(join(findPackageRoot(), LIST), 'utf8')) as Record<string, string[]>
const names = stableNames()

t.same(Object.keys(names), Object.keys(listed), `${LIST} has every kind`)

for (const [kind, list] of Object.entries(listed))
  t.test(`stable names, ${kind}: the list and the code contain the same names`, async (t) => {
    const found = new Set(names[kind])
    const known = new Set(list)
    t.ok(known.size > 0)
    t.same([...known.difference(found)], [], `removed or renamed: in ${LIST} and not in the code`)
    t.same([...found.difference(known)], [], `new: add it to ${LIST}`)
  })
