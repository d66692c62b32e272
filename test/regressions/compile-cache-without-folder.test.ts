import t from 'tap'
import { runCommand } from '../fixtures/run-command.ts'

// Node.js creates the folder of its compile cache with a recursive mkdir. The call never returns below /proc, or in a
// home folder that an automounter cannot mount. Before the fix, every command waited forever, including `--version`.
t.test('a command runs without a compile cache where its folder cannot be created', async (t) => {
  const { code, output } = await runCommand(['--version'], { XDG_CACHE_HOME: '/proc/nothing' })
  t.equal(code, 0)
  t.match(output, /^\d+\.\d+\.\d+\S*\n$/)
})
