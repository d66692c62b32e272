import { join } from 'node:path'
import t from 'tap'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../runtime/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// With --json, a program that read standard output got nothing at all when a policy was broken.
t.test('verbs with --json tell a program what is wrong with policies', async (t) => {
  const policies = join(findPackageRoot(), 'test', 'policies', 'broken', 'one-name-in-two-files')
  for (const words of [['test'], ['routes'], ['explain', 'GET', '/'], ['export', 'openapi']]) {
    const terminal = aTerminal()
    t.equal(await main([...words, '--json', '--policies', policies], terminal), 3, words.join(' '))
    t.equal(terminal.said.err, '')
    t.match(JSON.parse(terminal.said.out), { problems: [{ code: 'P303', severity: 'error' }] })
  }
})
