import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runOnChange } from '../../../../cli/commands/check/watch.ts'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { spawnPlainly } from '../../../fixtures/spawn-plainly.ts'

const policy = (name: string, more = '') =>
  `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nupstream: learning-platform\nroutes:\n  - name: x\n    match: { methods: [GET], path: /${name} }\n    anonymous: deny\n${more}`

async function run(t: Test, args: readonly string[], files: Record<string, string> = {}) {
  const folder = t.testdir({ policies: files, other: {} })
  const terminal = aTerminal({ folder })
  const code = await main(['check', ...args], terminal)
  return { code, ...terminal.said }
}

t.test('check accepts a folder or files of one folder, and shows only their problems', async (t) => {
  const files = {
    'a.policy.yaml': policy('a'),
    'a_test.yaml': 'apiVersion: scopegate/v1\nkind: PolicyTest\npolicy: a\ntests: []\n',
    'b.policy.yaml': policy('b', '    timout: 5s\n'),
    'c.policy.yaml': policy('c').replace('path: /c', 'path: /a'),
  }
  const whole = await run(t, ['policies', '--json'], files)
  const codes = ({ out }: { out: string }) => {
    const { problems, summary } = JSON.parse(out)
    return [...problems.map((one: { code: string }) => one.code), summary.hiddenErrors]
  }
  t.same(codes(whole), ['P106', 'P101', 'P301', 0])
  t.same(codes(await run(t, ['policies/a.policy.yaml', '--json'], files)), ['P106', 'P301', 1])
  t.same(codes(await run(t, ['policies/b.policy.yaml', '--json'], files)), ['P101', 2])
  const both = await run(t, ['policies/a.policy.yaml', 'policies/b.policy.yaml', '--json'], files)
  t.same(codes(both), ['P106', 'P101', 'P301', 0])
  const other = await run(t, ['policies/d.policy.yaml'], { ...files, 'd.policy.yaml': policy('d') })
  t.match(other, { code: 3, out: '3 errors in other files\n' })
  t.same(codes(await run(t, ['nowhere', '--json'], files)), ['P001', 0])
})

t.test('check --no-tests runs no tests', async (t) => {
  const files = {
    'a.policy.yaml': policy(
      'a',
      'tests:\n  - it: is open\n    request: { method: GET, path: /a }\n    expect: { decision: allow }\n',
    ),
  }
  t.match(await run(t, ['policies'], files), { code: 4, out: /1 of 1 test failed/ })
  t.match(await run(t, ['policies', '--no-tests'], files), { code: 0, out: /^ok: .* scopes used\n$/ })
})

t.test('check rejects options that exclude each other, and exits with 2', async (t) => {
  for (const [args, said] of [
    [['--json', '--format', 'sarif'], /use either --json or --format sarif/],
    [['--watch', '--json'], /--watch supports only the pretty format/],
    [['--format', 'xml'], /--format is one of pretty, json, github, sarif/],
    [['policies', '--policies', 'other'], /use either PATH or --policies/],
    [['policies', 'other'], /several paths must all be policy files/],
    [['policies/a.policy.yaml', 'other/b.policy.yaml'], /one folder/],
    [['policies/nowhere.policy.yaml'], /file not found: .*nowhere\.policy\.yaml/],
    [['--explain', 'P999'], /unknown code: "P999"/],
    [['--explain', '../../package'], /unknown code: /],
  ] as const) {
    const { code, out, err } = await run(t, args)
    t.equal(code, 2, args.join(' '))
    t.equal(out, '')
    t.match(err, said)
  }
})

t.test('check --explain shows the page of a code', async (t) => {
  const { code, out } = await run(t, ['--explain', 'p101'])
  t.equal(code, 0)
  t.match(out, /^# P101: unknown key\n/)
})

t.test('runOnChange() runs again after each change, for every way to write a file, and ends', async (t) => {
  const folder = t.testdir({ 'a.policy.yaml': 'one' })
  const ending = new AbortController()
  const seen: (string | undefined)[] = []
  const steps = [
    () => writeFileSync(join(folder, 'a.policy.yaml'), 'two'),
    () => {
      writeFileSync(join(folder, '.b.swp'), 'three')
      renameSync(join(folder, '.b.swp'), join(folder, 'b.policy.yaml'))
    },
    () => ending.abort(),
  ]
  await runOnChange({
    folders: [folder],
    end: ending.signal,
    run: async (changed) => {
      seen.push(changed)
      const step = steps.shift()
      // Simulates a user who changes the next file after the end of the run.
      setImmediate(() => step?.())
      return [folder, join(folder, 'nowhere')]
    },
  })
  t.same(seen, [undefined, 'a.policy.yaml', 'b.policy.yaml'])
})

t.test('check --watch runs until it is interrupted, and exits with 0', async (t) => {
  const folder = t.testdir({ 'a.policy.yaml': policy('a') })
  const program = join(findPackageRoot(), 'bin', 'scopegate.js')
  const child = spawnPlainly(process.execPath, [program, 'check', '--watch', folder], {
    env: { NODE_DISABLE_COMPILE_CACHE: '1' },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (!output.includes('error[P101]')) {
      if (output.includes('ok: 1 policy'))
        writeFileSync(join(folder, 'a.policy.yaml'), policy('a', '    timout: 5s\n'))
    } else child.kill('SIGINT')
  })
  const deadline = setTimeout(() => child.kill('SIGKILL'), 120_000)
  const [code] = await once(child, 'close')
  clearTimeout(deadline)
  t.equal(code, 0)
  t.match(output, /ok: 1 policy[\s\S]*-- a\.policy\.yaml changed -+\n\nerror\[P101\]/)
})
