import t from 'tap'
import { runCommand } from '../fixtures/run-command.ts'

// Node.js makes the folder of its compile cache by a recursive mkdir that never returns below /proc, or in a home that an
// automounter has nothing for: every verb hung, `--version` among them.
t.test(
  'a verb runs without a cache where no folder can be made for one',
  { skip: process.platform === 'linux' ? false : 'there is no /proc on this system' },
  async (t) => {
    const { code, output } = await runCommand(['--version'], { XDG_CACHE_HOME: '/proc/nothing' })
    t.equal(code, 0)
    t.match(output, /^\d+\.\d+\.\d+\S*\n$/)
  },
)
