import t from 'tap'
import { main } from '../../cli/main.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// Before the fix, `scopegate check` in a wrong folder checked the policies of the package, which are valid. A pipeline
// with this mistake passed.

t.test('check, test and fmt report a folder without a configuration', async (t) => {
  for (const command of ['check', 'test', 'fmt']) {
    const elsewhere = aTerminal({ folder: t.testdir() })
    await main([command, ...(command === 'fmt' ? ['--check'] : [])], elsewhere)
    t.match(elsewhere.said.err, 'found no config/gateway.yaml in this folder', command)
  }
  const here = aTerminal()
  await main(['check', '--no-tests'], here)
  t.equal(here.said.err, '')
})
