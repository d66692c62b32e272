import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { main } from '../../cli/main.ts'
import type { VerbExample } from '../../cli/verb.ts'
import { VERBS } from '../../cli/verbs.ts'
import { findPackageRoot } from '../../runtime/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { quietPort, type Scopegate, startScopegate } from '../fixtures/start-scopegate.ts'

const ROOT = findPackageRoot()
const LIMIT_MS = 60_000
/** The test of the whole file: what it starts serves every test. */
const file = t

async function say(...args: string[]) {
  const terminal = aTerminal()
  const code = await main(args, terminal)
  return { code, ...terminal.said }
}

t.test('--help names every verb, and each verb has a page with every option and an example', async (t) => {
  const { code, out, err } = await say('--help')
  t.equal(code, 0)
  t.equal(err, '')
  for (const verb of VERBS) {
    t.match(out, new RegExp(`^  ${verb.name} +\\S`, 'm'))
    const help = await say(...verb.name.split(' '), '--help')
    t.equal(help.code, 0, verb.name)
    t.ok(help.out.startsWith(`scopegate ${verb.name} - ${verb.summary}\n`), verb.name)
    for (const option of verb.options) t.match(help.out, `--${option.name}`)
    for (const { command } of verb.examples) t.match(help.out, command)
    t.same(await say('help', ...verb.name.split(' ')), help)
    for (const line of help.out.split('\n')) t.ok(line.length <= 110 || line.includes('|'), line)
  }
})

t.test('no verb loads the code of another one: their data import nothing but shared options', async (t) => {
  const { readdirSync, readFileSync } = await import('node:fs')
  for (const name of readdirSync(join(ROOT, 'cli/verbs'))) {
    const text = readFileSync(join(ROOT, 'cli/verbs', name), 'utf8')
    const imported = [...text.matchAll(/^import (?!type)[^;]*? from '(.+)'/gm)].map(([, from]) => from)
    t.same(
      imported.filter((from) => from !== '../shared-options.ts'),
      [],
      name,
    )
  }
})

t.test('a verb that is not there is named, with the nearest one', async (t) => {
  for (const [args, text] of [
    [['serve'], 'there is no `scopegate serve`. See: scopegate --help'],
    [['chekc'], 'there is no `scopegate chekc`; did you mean `scopegate check`? See: scopegate --help'],
    [
      ['account'],
      'there is no `scopegate account`; did you mean `scopegate account add`? See: scopegate --help',
    ],
    [
      ['acount', 'add'],
      'there is no `scopegate acount`; did you mean `scopegate account add`? See: scopegate --help',
    ],
    [
      ['help', 'chekc'],
      'there is no `scopegate chekc`; did you mean `scopegate check`? See: scopegate --help',
    ],
    [
      ['chekc', '--help'],
      'there is no `scopegate chekc`; did you mean `scopegate check`? See: scopegate --help',
    ],
    [
      ['check', '--note'],
      '`scopegate check` has no option --note; did you mean --notes? See: scopegate check --help',
    ],
    [[], 'say what to do. See: scopegate --help'],
  ] as const)
    t.same(await say(...args), { code: 2, out: '', err: `scopegate: ${text}\n` })
})

t.test('every example that --help shows runs and ends as it says', async (t) => {
  const dir = t.testdir({ bin: {}, '.scopegate': { 'gateway-client-secret': 'a-secret-of-this-test-alone' } })
  for (const folder of ['config', 'policies'])
    cpSync(join(ROOT, folder), join(dir, folder), { recursive: true })
  const script = `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'bin/scopegate.js')}" "$@"\n`
  writeFileSync(join(dir, 'bin/scopegate'), script, { mode: 0o755 })
  let product: Scopegate | undefined
  for (const verb of VERBS)
    for (const example of verb.examples) {
      const asksAnother = verb.serves !== true && /127\.0\.0\.1:(?:8080|9090)/.test(example.command)
      if (asksAnother) product ??= await startScopegate(file)
      const { code, output } = await runExample(example, { dir, serves: verb.serves === true, product })
      t.equal(code, example.exits ?? 0, `${example.command}\n${output}`)
    }
})

/** What serves is told to end once it says that it listens. */
async function runExample(
  example: VerbExample,
  {
    dir,
    serves,
    product,
  }: { readonly dir: string; readonly serves: boolean; readonly product: Scopegate | undefined },
) {
  // What runs where it runs by default may be somebody else's.
  const command = example.command
    .replace('http://127.0.0.1:8080', product?.baseUrl ?? '$&')
    .replace('http://127.0.0.1:9090', product?.managementUrl ?? '$&')
  const [program, args] = serves
    ? [command.split(' ')[0] ?? '', command.split(' ').slice(1)]
    : ['sh', ['-c', command]]
  mkdirSync(join(dir, '.scopegate'), { recursive: true })
  const child = spawnPlainly(program, args, {
    cwd: dir,
    env: {
      PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
      PORT: command === 'scopegate dev' ? String(await quietPort()) : '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
      PASSWORD: 'correct horse battery staple',
    },
  })
  child.stdin.end()
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (serves && /"event":"listening"|Scopegate is ready/.test(output)) child.kill('SIGTERM')
    })
  const deadline = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  const code = await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(deadline)
  return { code, output }
}
