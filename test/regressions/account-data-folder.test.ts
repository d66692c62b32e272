import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../fixtures/run-command.ts'

// Before the fix, `scopegate account add` in an npm installation stored the account in the package folder. `scopegate
// dev` does not read this folder.
t.test(
  'scopegate account add --data FOLDER adds the account that scopegate dev --data FOLDER reads',
  async (t) => {
    const folder = t.testdir()
    const added = await runCommand(
      ['account', 'add', 'carol', '--data', folder],
      {},
      'correct horse of the tests',
    )
    t.equal(added.code, 0)
    const lines = added.output.trimEnd().split('\n')
    const audit = lines.find((line) => line.startsWith('{')) ?? '{}'
    t.same(
      lines.filter((line) => line !== audit),
      [`scopegate: carol can sign in now (stored in ${folder}).`],
    )
    const { time, subject, ...rest } = JSON.parse(audit)
    t.match({ time, subject }, { time: /^\d{4}-/, subject: /^[0-9a-f]{32}$/ })
    t.strictSame(rest, {
      level: 'info',
      service: 'scopegate',
      event: 'audit',
      action: 'account_added',
      username: 'carol',
      account_origin: 'operator',
      msg: 'account added',
    })
    t.ok(existsSync(join(folder, 'authorization-server.sqlite')))
  },
)
