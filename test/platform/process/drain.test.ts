import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { spawnPlainly } from '../../fixtures/spawn-plainly.ts'
import { until } from '../../fixtures/until.ts'

const ROOT = findPackageRoot()
/** Prints a word for each signal and for each call of `stop`, which ends when a line arrives on standard input. */
const PROGRAM = `
import { once } from 'node:events'
import { onTermination } from ${JSON.stringify(join(ROOT, 'platform', 'process', 'drain.ts'))}
import { createLogger } from ${JSON.stringify(join(ROOT, 'platform', 'logging', 'logger.ts'))}
const say = (word) => process.stdout.write(word + '\\n')
onTermination(
  async (reason) => {
    say('stop ' + reason)
    await once(process.stdin, 'data')
  },
  { logger: createLogger({ level: 'info', service: 'test' }, { write: (line) => say(JSON.parse(line).event) }), graceMs: 600_000 },
)
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => say(signal))
setInterval(() => {}, 60_000)
say('ready')
`

t.test('a second signal does not stop a process twice', async (t) => {
  const child = spawnPlainly(process.execPath, ['--input-type=module', '--eval', PROGRAM])
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => (text += part))
  const count = (word: string) => text.split('\n').filter((line) => line === word).length
  const says = (word: string, times: number) => until(word, async () => count(word) === times)

  await says('ready', 1)
  child.kill('SIGTERM')
  await says('SIGTERM', 1)
  child.kill('SIGTERM')
  await says('SIGTERM', 2)
  child.kill('SIGINT')
  await says('SIGINT', 1)
  child.stdin.write('end\n')
  t.same(await exited, [0, null], 'the exit code is 0')
  t.equal(count('stop SIGTERM'), 1)
  t.equal(count('stop SIGINT'), 0)
  t.equal(count('stopping'), 1)
  t.equal(count('stopped'), 1)
})
