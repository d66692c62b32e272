import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS } from '../../cli/commands.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'

const PAGE = readFileSync(join(findPackageRoot(), 'docs/command-line.md'), 'utf8')

t.test('docs/command-line.md describes the --json output of each command', async (t) => {
  const [, part = ''] = /\n## What `--json` prints\n(.*?)\n## /s.exec(PAGE) ?? []
  for (const { name } of COMMANDS.filter(({ options }) => options.some((option) => option.name === 'json')))
    t.match(part, `\n| \`${name}\` | `)
})
