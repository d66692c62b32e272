import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SCHEMAS } from '../../../../cli/commands/schema/schemas.ts'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

async function run(...args: string[]): Promise<string> {
  const terminal = aTerminal()
  const code = await main(args, terminal)
  if (code !== 0) throw new Error(terminal.said.err)
  return terminal.said.out
}

/** Returns the completion candidates without descriptions. */
async function candidates(...words: string[]): Promise<readonly string[]> {
  const lines = (await run('__complete', ...words)).split('\n').slice(0, -1)
  return lines.map((line) => line.split('\t')[0] ?? '')
}

const isThere = (shell: string): boolean => spawnSync(shell, ['-c', ':']).status === 0

/** Creates a folder with a completion script, a `scopegate` command, one folder and one file. */
async function aFolder(t: Test, shell: string): Promise<string> {
  const bin = join(findPackageRoot(), 'bin/scopegate.js')
  const dir = t.testdir({
    work: { folder: {}, file: '' },
    completion: await run('completion', shell),
    bin: { scopegate: `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n` },
  })
  spawnSync('chmod', ['+x', join(dir, 'bin/scopegate')])
  return dir
}

function runShell(dir: string, command: string, args: readonly string[]) {
  const env = { ...process.env, HOME: dir, PATH: `${join(dir, 'bin')}:${process.env['PATH']}` }
  return spawnSync(command, args, { cwd: join(dir, 'work'), encoding: 'utf8', env })
}

/** Words before the cursor after bash has split the command line, and the candidates that the shell must show. */
const CASES: readonly (readonly [words: readonly string[], replies: readonly string[]])[] = [
  [['che'], ['check']],
  [
    ['account', ''],
    ['add', 'list', 'show', 'disable', 'enable', 'remove', 'invite', 'reset-password', 'reset-second-factor'],
  ],
  [['account', 'add', '--em'], ['--email']],
  [['check', '--config', ''], ['folder']],
  [['schema', '--kind', ''], [...SCHEMAS.keys()]],
  [['schema', '--kind', '=', 'PolicyT'], ['PolicyTest']],
  [['fmt', 'fi'], ['file']],
  [['completion', 'f'], ['fish']],
  [['dev', ''], []],
  [
    ['explain', '--he'],
    ['--header', '--help'],
  ],
  [['nothing', ''], []],
]

t.test('completion rejects an unknown shell', async (t) => {
  const terminal = aTerminal()
  t.equal(await main(['completion', 'tcsh'], terminal), 2)
  t.match(terminal.said.err, 'the shell must be one of bash, zsh, fish, not "tcsh"')
})

t.test('__complete prints commands, options, values and the kind of a path', async (t) => {
  t.same(await candidates('che'), ['check'])
  t.same(await candidates('export', ''), ['openapi'])
  t.same(await candidates('account', 'a'), ['add'])
  t.match(await candidates(''), ['dev', 'gateway'])
  t.same(await candidates('--'), ['--help', '--version'])
  t.same(await candidates('check', '--pol'), ['--policies'])
  t.same(await candidates('account', 'add', '--he'), ['--help'])
  t.same(await candidates('check', '--config', 'any'), [':folders'])
  t.same(await candidates('check', '--config=any'), [':folders'])
  t.same(await candidates('schema', '--kind=PolicyT'), ['--kind=PolicyTest'])
  t.same(await candidates('schema', '--kind', '='), [...SCHEMAS.keys()])
  t.same(await candidates('fmt', '--check', 'any'), [':files'])
  t.same(await candidates('dev', 'any'), [])
  t.same(await candidates('completion', ''), ['bash', 'zsh', 'fish'])
  t.same(await candidates('nothing', ''), [])
  t.match(await run('__complete', 'che'), /^check\t\w+/)
  t.notMatch(await run('--help'), '__complete')
})

t.test('completion bash completes commands, options, values and paths in a real bash', async (t) => {
  const dir = await aFolder(t, 'bash')
  const lines = CASES.map(([words]) => {
    const quoted = words.map((word) => `'${word}'`).join(' ')
    return `COMP_WORDS=(scopegate ${quoted}); COMP_CWORD=${words.length}; _scopegate scopegate; echo "\${COMPREPLY[*]}"`
  })
  const { stdout, stderr } = runShell(dir, 'bash', ['--norc', '-c', `. ../completion\n${lines.join('\n')}`])
  t.equal(stderr, '')
  t.same(
    stdout.split('\n').slice(0, -1),
    CASES.map(([, replies]) => replies.join(' ')),
  )
})

t.test(
  'completion zsh and fish complete commands, options, values and paths in an installed shell',
  async (t) => {
    for (const [shell, complete] of [
      ['zsh', completeInZsh],
      ['fish', completeInFish],
    ] as const) {
      const dir = await aFolder(t, shell)
      t.match(await run('completion', shell), 'scopegate __complete')
      if (!isThere(shell)) continue
      for (const [words, replies] of CASES) {
        const line = words.join(' ').replace(' = ', '=')
        t.same(complete(dir, line), replies, `${shell}: ${line}`)
      }
    }
  },
)

function completeInFish(dir: string, line: string): readonly string[] {
  const { stdout, stderr } = runShell(dir, 'fish', [
    '--no-config',
    '-c',
    `source ../completion; complete -C 'scopegate ${line}'`,
  ])
  if (stderr !== '') return [stderr]
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((one) => one.replace(/\t.*|\/\t.*/, '').replace(/^--kind=|\/$/, ''))
}

/** Calls the completion function with `line` as the command line. zsh itself completes only in an interactive shell. */
function completeInZsh(dir: string, line: string): readonly string[] {
  const words = line.split(' ')
  const { stdout, stderr } = runShell(dir, 'zsh', [
    '-f',
    '-c',
    `words=(scopegate ${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length + 1}
compset() { : }
_files() { [[ $1 == -/ ]] && print -l -- \${words[CURRENT]}*(/) || print -l -- \${words[CURRENT]}*(.) }
_describe() { print -l -- \${(P)2} }
source ../completion`,
  ])
  if (stderr !== '') return [stderr]
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((one) => one.replace(/:.*/, '').replace(/^--kind=/, ''))
}
