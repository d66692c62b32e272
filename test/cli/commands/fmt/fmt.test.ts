import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../../../cli/main.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

const GOOD = `apiVersion: scopegate/v1
kind: Policy
name: things
upstream: things

routes:
  - name: list
    match: { methods: [GET], path: /things }
`
const UNTIDY = GOOD.replace('name: things\n', "name: 'things'\n").replace('\nroutes', 'routes')
const BROKEN = `${GOOD}\ttimeout: 5s\r\n`

async function run(args: readonly string[], given: Parameters<typeof aTerminal>[0] = {}) {
  const terminal = aTerminal(given)
  const code = await main(['fmt', ...args], terminal)
  return { code, ...terminal.said }
}

t.test('fmt does not change an invalid file, reports its errors, and continues', async (t) => {
  const dir = t.testdir({
    'a.policy.yaml': BROKEN,
    'b.policy.yaml': UNTIDY,
    'c.policy.yaml': '',
    'other.yaml': UNTIDY,
  })
  const { code, out } = await run([dir])
  t.equal(code, 3)
  t.match(out, /error\[P011\]: .*\n +--> .*a\.policy\.yaml:9:1/)
  t.match(out, /error\[P002\]: the file is empty/)
  t.match(out, /\n1 formatted, 2 with errors \(unchanged\)\n$/)
  t.equal(readFileSync(join(dir, 'a.policy.yaml'), 'utf8'), BROKEN)
  t.equal(readFileSync(join(dir, 'b.policy.yaml'), 'utf8'), GOOD)
  t.equal(readFileSync(join(dir, 'other.yaml'), 'utf8'), UNTIDY)
  t.equal((await run([join(dir, 'none.yaml')])).code, 3)
})

t.test('fmt --check changes no file, and exits with 1 when fmt would change a file', async (t) => {
  const dir = t.testdir({ 'b.policy.yaml': UNTIDY, 'c.policy.yaml': GOOD })
  const { code, out } = await run(['--check', dir])
  t.equal(code, 1)
  t.match(out, /b\.policy\.yaml is not formatted\n1 to format, 1 already formatted\n$/)
  t.equal(readFileSync(join(dir, 'b.policy.yaml'), 'utf8'), UNTIDY)
  const json = await run(['--check', '--json', dir])
  t.equal(json.code, 1)
  t.same(
    JSON.parse(json.out).files.map((one: { state: string }) => one.state),
    ['would-change', 'same'],
  )
  t.equal((await run([dir])).code, 0)
  t.same(await run(['--check', dir]), { code: 0, out: '2 already formatted\n', err: '' })
})

t.test(
  'fmt replaces a file atomically, keeps its mode and its symbolic link, and leaves no temporary file',
  async (t) => {
    const dir = t.testdir({ real: { 'b.policy.yaml': UNTIDY }, policies: {} })
    symlinkSync('../real/b.policy.yaml', join(dir, 'policies/b.policy.yaml'))
    const before = statSync(join(dir, 'real/b.policy.yaml')).mode
    t.equal((await run([join(dir, 'policies')])).code, 0)
    t.ok(lstatSync(join(dir, 'policies/b.policy.yaml')).isSymbolicLink())
    t.equal(readFileSync(join(dir, 'real/b.policy.yaml'), 'utf8'), GOOD)
    t.equal(statSync(join(dir, 'real/b.policy.yaml')).mode, before)
    t.same(readdirSync(join(dir, 'real')), ['b.policy.yaml'])
  },
)

t.test('fmt with the argument - reads standard input, and prints no text for invalid input', async (t) => {
  t.same(await run(['-'], { typed: `\ufeff${UNTIDY.replaceAll('\n', '\r\n')}` }), {
    code: 0,
    out: GOOD,
    err: '',
  })
  const broken = await run(['-'], { typed: BROKEN.replace('\r', '') })
  t.equal(broken.code, 3)
  t.equal(broken.out, '')
  t.match(broken.err, /^error\[P011\]/)
  t.equal((await run(['-'], { typed: '#'.repeat(300_000) })).code, 3)
})

t.test(
  'fmt without a path formats the policy folder of the configuration in the current folder',
  async (t) => {
    const dir = t.testdir({
      config: { 'gateway.yaml': readFileSync('config/gateway.yaml', 'utf8') },
      policies: { 'b.policy.yaml': UNTIDY, 'b_test.yaml': 'kind: PolicyTest\n' },
    })
    const { code, out } = await run([], { folder: dir })
    t.equal(code, 3)
    t.match(out, /b_test\.yaml/)
    t.equal(readFileSync(join(dir, 'policies/b.policy.yaml'), 'utf8'), GOOD)
  },
)

t.test('fmt formats the policies of nested folders', async (t) => {
  const dir = t.testdir({
    'a.policy.yaml': GOOD,
    team: { 'a.policy.yaml': UNTIDY, '.b.policy.yaml': UNTIDY },
  })
  const { code, out } = await run([dir])
  t.equal(code, 0)
  t.match(out, /team\/a\.policy\.yaml\n/)
  t.equal(readFileSync(join(dir, 'team', 'a.policy.yaml'), 'utf8'), GOOD)
  t.equal(readFileSync(join(dir, 'team', '.b.policy.yaml'), 'utf8'), UNTIDY)
})
