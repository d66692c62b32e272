import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const MAIN = new URL('../../../examples/learning-platform/main.ts', import.meta.url)

type Process = {
  readonly child: ChildProcess
  readonly output: { text: string }
  readonly exit: Promise<readonly unknown[]>
}

t.test('exits with code 1 and one line for an invalid setting', async (t) => {
  for (const env of [
    { LEARNING_PLATFORM_PORT: '80x' },
    { LEARNING_PLATFORM_PORT: '65536' },
    { LEARNING_PLATFORM_LOG_LEVEL: 'loud' },
    { LEARNING_PLATFORM_HOST: '' },
  ]) {
    const { exit, output } = start(t, env)
    t.equal((await exit)[0], 1)
    t.match(output.text, /^learning-platform: LEARNING_PLATFORM_\w+ is [^\n]+\n$/)
  }
})

t.test('exits with code 1 and one line that says what to do for a port in use', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? String(address.port) : ''
  const { exit, output } = start(t, { LEARNING_PLATFORM_PORT: port })
  t.equal((await exit)[0], 1)
  t.match(output.text, /^learning-platform: [^\n]+ cannot listen on [^\n]+LEARNING_PLATFORM_PORT[^\n]+\n$/)
})

t.test('exits with code 1 and one line for a database that it cannot open', async (t) => {
  const databasePath = join(t.testdir({ 'a-file': 'x' }), 'a-file/data.sqlite')
  const { exit, output } = start(t, { LEARNING_PLATFORM_DATABASE: databasePath })
  t.equal((await exit)[0], 1)
  t.match(output.text, /^learning-platform: The database [^\n]+LEARNING_PLATFORM_DATABASE\.\n$/)
})

for (const [how, stop] of [
  ['SIGTERM', (child: ChildProcess) => child.kill('SIGTERM')],
  ['SIGINT', (child: ChildProcess) => child.kill('SIGINT')],
  ['the end of the process that started it', (child: ChildProcess) => child.disconnect()],
] as const)
  t.test(`reports readiness, and exits with code 0 on ${how}`, async (t) => {
    const { child, exit, output } = start(t, {})
    const [message] = await once(child, 'message')
    t.match(message, { ready: true, url: /^http:\/\/127\.0\.0\.1:\d+$/ })
    t.equal((await fetch(`${message.url}/healthz`)).status, 200)
    stop(child)
    t.same(await exit, [0, null])
    t.match(output.text, /"msg":"Server listening at http:\/\/127\.0\.0\.1:\d+"/)
  })

function start(t: Test, env: Readonly<Record<string, string>>): Process {
  const child = fork(MAIN, {
    silent: true,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      LEARNING_PLATFORM_PORT: '0',
      LEARNING_PLATFORM_DATABASE: join(t.testdirName, 'main.sqlite'),
      ...env,
    },
  })
  const output = { text: '' }
  // Waits for the streams: Node.js does not emit `close` for a child after the parent has closed the IPC channel.
  const ends: Promise<unknown>[] = []
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue
    stream.on('data', (chunk) => {
      output.text += chunk
    })
    ends.push(once(stream, 'close'))
  }
  const exit = Promise.all([once(child, 'exit'), ...ends]).then(([status]) => status)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, output, exit }
}
