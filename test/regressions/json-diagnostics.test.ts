import { join } from 'node:path'
import t from 'tap'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// Before the fix, standard output was empty with --json and an invalid policy.
t.test('commands with --json print policy errors as JSON', async (t) => {
  const policies = join(findPackageRoot(), 'test', 'policies', 'broken', 'one-name-in-two-files')
  for (const words of [['test'], ['routes'], ['explain', 'GET', '/'], ['export', 'openapi']]) {
    const terminal = aTerminal()
    t.equal(await main([...words, '--json', '--policies', policies], terminal), 3, words.join(' '))
    t.equal(terminal.said.err, '')
    t.match(JSON.parse(terminal.said.out), { problems: [{ code: 'P303', severity: 'error' }] })
  }
})

// Before the fix, fmt and check printed policy errors in different formats. fmt printed no errors of the configuration.
t.test('fmt --json prints errors in the format of check', async (t) => {
  const folder = t.testdir({
    policies: { 'a.policy.yaml': 'name: a\nroutes: [\n' },
    config: { 'gateway.yaml': 'nonsense: 1\n' },
  })
  const [policies, config] = [join(folder, 'policies'), join(folder, 'config')]
  const run = async (...words: string[]) => {
    const terminal = aTerminal()
    t.equal(await main([...words, '--json'], terminal), 3, words.join(' '))
    t.equal(terminal.said.err, '')
    return JSON.parse(terminal.said.out)
  }
  const [file] = (await run('fmt', '--check', policies)).files
  const { problems } = await run('check', '--policies', policies)
  t.match(problems, [{ page: 'docs/errors/P014.md' }])
  t.same(file.problems, problems)

  const broken = await run('fmt', '--check', '--config', config)
  t.match(broken.problems[0], { severity: 'error', page: /^docs\/errors\/C\d+\.md$/ })
  t.same(Object.keys(broken), ['problems'])
})
