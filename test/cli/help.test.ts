import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeSigningKeys } from '../../authorization-server/keys/signing-keys.ts'
import type { CommandExample } from '../../cli/command.ts'
import { COMMANDS } from '../../cli/commands.ts'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { type Scopegate, startScopegate } from '../fixtures/start-scopegate.ts'

const ROOT = findPackageRoot()
const LIMIT_MS = 120_000
const SCOPEGATE = `exec "${process.execPath}" "${join(ROOT, 'bin/scopegate.js')}" "$@"\n`
/** The root test of this file. Services of this test run until the last test ends. */
const file = t

async function say(...args: string[]) {
  const terminal = aTerminal()
  const code = await main(args, terminal)
  return { code, ...terminal.said }
}

t.test(
  '--help names every command, and each command has a page with every option and an example',
  async (t) => {
    const { code, out, err } = await say('--help')
    t.equal(code, 0)
    t.equal(err, '')
    for (const command of COMMANDS) {
      t.match(out, new RegExp(`^  ${command.name} +\\S`, 'm'))
      const help = await say(...command.name.split(' '), '--help')
      t.equal(help.code, 0, command.name)
      t.ok(help.out.startsWith(`scopegate ${command.name} - ${command.summary}\n`), command.name)
      for (const option of command.options) t.match(help.out, `--${option.name}`)
      for (const { commandLine } of command.examples) t.match(help.out, commandLine)
      t.same(await say('help', ...command.name.split(' ')), help)
      for (const line of help.out.split('\n')) t.ok(line.length <= 110 || line.includes('|'), line)
    }
  },
)

t.test(
  'the description of a command imports only shared options, and loads no code of another command',
  async (t) => {
    const { readdirSync, readFileSync } = await import('node:fs')
    for (const name of readdirSync(join(ROOT, 'cli/commands'))) {
      const text = readFileSync(join(ROOT, 'cli/commands', name, 'command.ts'), 'utf8')
      const imported = [...text.matchAll(/^import (?!type)[^;]*? from '(.+)'/gm)].map(([, from]) => from)
      t.same(
        imported.filter((from) => from !== '../../shared-options.ts'),
        [],
        name,
      )
    }
  },
)

t.test('an unknown command is reported with the most similar command', async (t) => {
  for (const [args, text] of [
    [['sevre'], 'there is no `scopegate sevre`. See: scopegate --help'],
    // A command from another tool gets a fixed suggestion.
    [['validate'], '`validate` is not a command; use `scopegate check`. See: scopegate --help'],
    [['lint', 'policies'], '`lint` is not a command; use `scopegate check`. See: scopegate --help'],
    [['version'], '`version` is not a command; use `scopegate --version`. See: scopegate --help'],
    [
      ['serve'],
      '`serve` is not a command; use `scopegate dev` on this machine or `scopegate gateway` in production. See: scopegate --help',
    ],
    [['constructor'], 'there is no `scopegate constructor`. See: scopegate --help'],
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
    [[], 'a command is missing. See: scopegate --help'],
  ] as const)
    t.same(await say(...args), { code: 2, out: '', err: `scopegate: ${text}\n` })
})

t.test('every example of --help runs and exits with the documented code', async (t) => {
  const dir = t.testdir({
    bin: {},
    '.scopegate': {
      'gateway-client-secret': 'a-secret-of-this-test-alone',
      'signing-keys.json': JSON.stringify(await makeSigningKeys()),
    },
  })
  for (const folder of ['config', 'policies'])
    cpSync(join(ROOT, folder), join(dir, folder), { recursive: true })
  writeFileSync(join(dir, 'bin/scopegate'), `#!/bin/sh\n${SCOPEGATE}`, { mode: 0o755 })
  // Starts the services of `scopegate dev`. Examples of other commands need running services.
  const product = await startScopegate(file)
  for (const command of COMMANDS.filter(({ name }) => name !== 'dev'))
    for (const example of command.examples) {
      const { code, output } = await runExample(example, { dir, serves: command.serves === true, product })
      t.equal(code, example.exits ?? 0, `${example.commandLine}\n${output}`)
    }
})

t.test('the commands of docs/playground.md start the playground', async (t) => {
  const dir = t.testdir({ bin: {} })
  writeFileSync(join(dir, 'bin/npx'), `#!/bin/sh\nshift\n${SCOPEGATE}`, { mode: 0o755 })
  cpSync(join(ROOT, 'config'), join(dir, 'config'), { recursive: true })
  for (const block of [
    documentedBlock('docs/playground.md', '$ npx scopegate playground'),
    documentedBlock('docs/playground.md', 'npx scopegate playground .'),
  ]) {
    const [line = ''] = block.replace('$ ', '').split('\n')
    const [program = '', ...args] = line.split(' ')
    const { code, output } = await runProgram(program, args, { dir, serves: true })
    t.equal(code, 0, `${line}\n${output}`)
    t.match(output, 'Scopegate playground: http://127.0.0.1:')
  }
})

/**
 * Runs an example. Starts a shell for shell syntax, and a process for a service. Runs all other commands in this
 * process, because this is faster.
 */
async function runExample(
  example: CommandExample,
  { dir, serves, product }: { readonly dir: string; readonly serves: boolean; readonly product: Scopegate },
) {
  const commandLine = example.commandLine
    .replace('http://127.0.0.1:8080', product.baseUrl)
    .replace('http://127.0.0.1:9090', product.managementUrl)
    .replace(/(scopegate (account|client|grant|session) .*)/, `$1 --data ${product.dataDir}`)
  const [program = '', ...args] = commandLine.split(' ')
  if (serves) return runProgram(program, args, { dir, serves })
  if (/[|&<>"'$;]/.test(commandLine)) return runProgram('sh', ['-c', commandLine], { dir, serves })
  const terminal = aTerminal({ folder: dir })
  const code = await main(args, terminal)
  return { code, output: terminal.said.out + terminal.said.err }
}

/** Runs a command as a process. Stops a service when the log contains its address. */
async function runProgram(
  program: string,
  args: readonly string[],
  { dir, serves }: { readonly dir: string; readonly serves: boolean },
) {
  const child = spawnPlainly(program, args, {
    cwd: dir,
    env: {
      PATH: `${join(dir, 'bin')}:${process.env['PATH']}`,
      PORT: '0',
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
      if (serves && /"event":"listening"|playground: http:/.test(output)) child.kill('SIGTERM')
    })
  const deadline = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
  const code = await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(deadline)
  return { code, output }
}
