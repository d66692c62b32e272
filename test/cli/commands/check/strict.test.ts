import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { findSarifFaults } from '../../../fixtures/find-sarif-faults.ts'

const ROOT = findPackageRoot()

const policy = (route: string, name = 'a') =>
  `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nupstream: learning-platform\nroutes:\n  - name: x\n    match: { methods: [DELETE], path: /${name} }\n${route}`

async function check(t: Test, files: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const folder = t.testdir({ policies: files })
  const terminal = aTerminal({ folder })
  const code = await main(['check', ...args], terminal)
  return { code, ...terminal.said }
}

t.test(
  'check warns about a route that is public by default, and --strict reports an error instead',
  async (t) => {
    const files = { 'a.policy.yaml': policy('') }
    const lenient = await check(t, files, 'policies')
    t.equal(lenient.code, 0)
    t.match(
      lenient.out,
      /^warning\[P314\]: anonymous callers reach x without an explicit "anonymous" key\n *--> \S+a\.policy\.yaml:6:11\n/,
    )
    t.match(lenient.out, /; 1 warning\n/)
    const strict = await check(t, files, 'policies', '--strict')
    t.equal(strict.code, 3)
    t.match(strict.out, /^error\[P314\]: [\s\S]*\n1 error\n/)
  },
)

t.test(
  '--strict reports warnings as errors in every format, also for files that are not arguments',
  async (t) => {
    const files = {
      'a.policy.yaml': policy(''),
      'b.policy.yaml': policy('    anonymous: deny\n', 'b'),
    }
    const json = await check(t, files, 'policies', '--strict', '--json')
    t.equal(json.code, 3)
    t.match(JSON.parse(json.out), {
      ok: false,
      summary: { errors: 1, warnings: 0 },
      problems: [{ code: 'P314', severity: 'error', line: 6, column: 11 }],
    })
    const sarif = await check(t, files, 'policies', '--strict', '--format', 'sarif')
    t.equal(sarif.code, 3)
    t.same(findSarifFaults(JSON.parse(sarif.out)), [])
    t.match(JSON.parse(sarif.out).runs[0].results, [{ ruleId: 'P314', level: 'error' }])
    const github = await check(t, files, 'policies', '--strict', '--format', 'github')
    t.equal(github.code, 3)
    t.match(github.out, /^::error file=.*title=P314::/)
    const other = await check(t, files, 'policies/b.policy.yaml', '--strict')
    t.equal(other.code, 3)
    t.match(other.out, '1 error in other files')
  },
)

t.test('the shipped policies, the starter policy of init and the examples pass check --strict', async (t) => {
  const terminal = aTerminal({ folder: t.testdir({}) })
  t.equal(await main(['check', '--config', join(ROOT, 'config'), '--strict'], terminal), 0, terminal.said.out)
  t.equal(await main(['init', 'shop'], terminal), 0)
  const shop = aTerminal({ folder: join(terminal.folder, 'shop') })
  t.equal(await main(['check', '--strict'], shop), 0, shop.said.out)
  const example = aTerminal({ folder: join(ROOT, 'examples', 'mcp-server') })
  t.equal(await main(['check', '--strict'], example), 0, example.said.out)
})

t.test('check notes a route with anonymous: allow, with and without scopes', async (t) => {
  const withScopes = policy('    anonymous: allow\n    scopes: { all: [courses:write] }\n')
  const scoped = await check(t, { 'a.policy.yaml': withScopes }, 'policies')
  t.match(scoped.out, /^note\[N301\]: anonymous callers reach x without courses:write\n/)
  const open = await check(t, { 'a.policy.yaml': policy('    anonymous: allow\n') }, 'policies')
  t.match(open.out, /^note\[N301\]: anonymous callers reach x \(no required scopes\)\n/)
  const strict = await check(t, { 'a.policy.yaml': policy('    anonymous: allow\n') }, 'policies', '--strict')
  t.equal(strict.code, 0, 'notes are never errors')
})
