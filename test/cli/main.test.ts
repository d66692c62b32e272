import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const COMMAND = join(import.meta.dirname, '..', '..', 'bin', 'scopegate.js')

const scopegate = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, [COMMAND, ...args], { encoding: 'utf8' })

t.test('scopegate rejects an unknown command with exit code 2 and a reference to --help', async (t) => {
  const { status, stdout, stderr } = scopegate('serve')
  t.equal(status, 2)
  t.equal(stdout, '')
  t.equal(
    stderr,
    'scopegate: `serve` is not a command; use `scopegate dev` on this machine or `scopegate gateway` in production. See: scopegate --help\n',
  )
})

t.test('scopegate rejects an unknown option and a wrong number of arguments with exit code 2', async (t) => {
  for (const args of [
    ['dev', '--prot', '1'],
    ['dev', 'now'],
    ['account', 'add'],
    ['account', 'add', 'a', 'b'],
    [],
  ]) {
    const { status, stderr } = scopegate(...args)
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /^scopegate: .*See: scopegate( \w+)* --help\n$/s)
  }
})

t.test('scopegate prints a usage error as JSON with --json', async (t) => {
  for (const [args, text] of [
    [['explain', 'GET', '--json'], /takes METHOD PATH/],
    [['explain', 'GET', '/a', '--json', '--jsn'], /has no option --jsn/],
    [['explain', 'GET', '/a', '--scope', 'a', '--anonymous', '--json'], /--anonymous/],
    [['check', '--watch', '--json'], /--watch supports only/],
    [['check', '--source', 'a', '--json'], /no policy source "a"/],
    [['diff', 'policies', '--json'], /takes OLD and NEW/],
    [['diff', 'policies', 'no-such-revision', '--json'], /neither a folder nor a known git revision/],
    [['doctor', 'example', '--json'], /not an http or https URL/],
    [['import', 'openapi.json', '--prefix', 'a', '--json'], /--prefix/],
  ] as const) {
    const { status, stdout, stderr } = scopegate(...args)
    t.equal(status, 2, args.join(' '))
    t.equal(stdout, '')
    t.match(JSON.parse(stderr), { error: 'usage', message: text })
  }
  const { stderr } = scopegate('explain', '--', '--json')
  t.match(stderr, /^scopegate: /, 'an argument')
})

t.test('scopegate --version prints the version of the package', async (t) => {
  const { status, stdout } = scopegate('--version')
  t.equal(status, 0)
  t.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

t.test('scopegate dev explains how to fix a port that is in use and an invalid port', async (t) => {
  const { createServer } = await import('node:net')
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.on('listening', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const run = (value: string): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [COMMAND, 'dev', '--data', t.testdirName], {
      encoding: 'utf8',
      env: { ...process.env, PORT: value },
    })

  const taken = run(String(port))
  t.equal(taken.status, 1)
  t.equal(
    taken.stderr,
    `scopegate dev: cannot listen on 127.0.0.1:${port}: another program listens there, or the system forbids this port. Choose another port: PORT=${port + 10} npm start\n`,
  )
  const none = run('eighty')
  t.equal(none.status, 2)
  t.equal(none.stderr, 'scopegate dev: PORT must be a number from 1 to 65535 (got "eighty").\n')
})

t.test('scopegate dev explains how to fix a data folder that is not writable', async (t) => {
  const file = join(t.testdir({ file: 'not a folder' }), 'file')
  for (const folder of process.platform === 'linux' ? [file, '/proc/scopegate'] : [file]) {
    const { status, stderr } = spawnSync(process.execPath, [COMMAND, 'dev', '--data', folder], {
      encoding: 'utf8',
      timeout: 120_000,
    })
    t.equal(status, 1, folder)
    t.match(stderr, /^scopegate dev: cannot write to the data folder .*scopegate dev --data DIR\n$/s)
  }
})

t.test('scopegate ends silently with its normal exit code when its reader closes the pipe', async (t) => {
  const dir = t.testdir({ policies: {} })
  for (let at = 0; at < 200; at++) writeFileSync(join(dir, 'policies', `p${at}.policy.yaml`), 'kind: Polcy\n')
  const line = `"${process.execPath}" "${COMMAND}" check --policies "${dir}/policies" | head -c 10; echo "\n${'$'}{PIPESTATUS[0]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', line], { encoding: 'utf8' })
  t.equal(stderr, '')
  t.match(stdout, /^error\[P\d{3}\n?.*3\n$/s)
})
