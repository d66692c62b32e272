import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { FORCED_EXIT_MS, shutdownMode } from '../../../platform/process/drain.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import { plainEnvironment, spawnPlainly } from '../../fixtures/spawn-plainly.ts'
import { until } from '../../fixtures/until.ts'

const ROOT = findPackageRoot()
/**
 * A program that prints a word for each signal and for each call of `stop`. A call of `stop` completes when the program
 * reads a line from standard input.
 */
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

t.test('SIGTERM drains, and other reasons skip the drain delay', async (t) => {
  t.equal(shutdownMode('SIGTERM'), 'graceful')
  t.equal(shutdownMode('SIGINT'), 'immediate')
  t.equal(shutdownMode('parent gone'), 'immediate')
  t.equal(FORCED_EXIT_MS, 5_000)
})

t.test('a process stops for SIGINT, and when its parent process exits', async (t) => {
  for (const [reason, end] of [
    ['SIGINT', (child: ChildProcess) => child.kill('SIGINT')],
    ['parent gone', (child: ChildProcess) => child.disconnect()],
  ] as const) {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      env: plainEnvironment(),
      stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const exited = once(child, 'exit')
    let text = ''
    child.stdout?.setEncoding('utf8').on('data', (part) => (text += part))
    await until('ready', async () => text.includes('ready\n'))
    end(child)
    await until('stop', async () => text.includes(`stop ${reason}\n`))
    child.stdin?.write('end\n')
    t.same(await exited, [0, null], reason)
  }
})

t.test('a stopped process exits without a reader of its log', async (t) => {
  const program = `
import { onTermination } from ${JSON.stringify(join(ROOT, 'platform', 'process', 'drain.ts'))}
import { createLogger } from ${JSON.stringify(join(ROOT, 'platform', 'logging', 'logger.ts'))}
const logger = createLogger({ level: 'info', service: 'test' })
onTermination(async () => {}, { logger, graceMs: 600_000 })
logger.info('x'.repeat(4_000_000))
process.stderr.write('ready')
setInterval(() => {}, 60_000)
`
  const child = spawnPlainly(process.execPath, ['--input-type=module', '--eval', program])
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  await once(child.stderr, 'data')
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
})
