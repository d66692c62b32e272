import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../fixtures/run-command.ts'

// Installed from npm, `scopegate account add` put the person into the package's own folder, where `scopegate dev` never looks.
t.test(
  'scopegate account add --data FOLDER adds the person where scopegate dev --data FOLDER looks',
  async (t) => {
    const folder = t.testdir()
    const added = await runCommand(
      ['account', 'add', 'carol', '--data', folder],
      {},
      'correct horse of the tests',
    )
    t.same(added, { code: 0, output: `scopegate: carol may sign in now (kept in ${folder}).\n` })
    t.ok(existsSync(join(folder, 'authorization-server.sqlite')))
  },
)
