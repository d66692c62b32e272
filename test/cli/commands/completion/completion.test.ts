import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../../../cli/main.ts'
import { VERBS } from '../../../../cli/verbs.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

async function script(shell: string): Promise<string> {
  const terminal = aTerminal()
  if ((await main(['completion', shell], terminal)) !== 0) throw new Error(terminal.said.err)
  return terminal.said.out
}

const isThere = (shell: string): boolean => spawnSync(shell, ['-c', ':']).status === 0

/** Runs in a real shell. */
async function completesInFish(t: Test): Promise<void> {
  const dir = t.testdir({ folder: {}, file: '' })
  writeFileSync(join(dir, 'completion.fish'), await script('fish'))
  for (const [line, replies] of [
    ['che', ['check']],
    ['account ', ['add']],
    ['account add --em', ['--email']],
    ['check --pol', ['--policies']],
    ['check --config ', ['folder/']],
    ['schema --kind ', ['Policy', 'PolicyTest']],
    ['fmt fi', ['file']],
    ['import --check fi', ['file']],
    ['completion f', ['fish']],
    ['dev ', []],
    ['explain --he', ['--header', '--help']],
    ['--v', ['--version']],
  ] as const) {
    const { stdout, stderr } = spawnSync(
      'fish',
      ['--no-config', '-c', `source completion.fish; complete -C 'scopegate ${line}'`],
      { cwd: dir, encoding: 'utf8', env: { ...process.env, HOME: dir } },
    )
    t.equal(stderr, '', line)
    t.same(
      stdout.split('\n').flatMap((one) => (one === '' ? [] : [one.split('\t')[0]])),
      replies,
      line,
    )
  }
}

t.test('completion rejects an unknown shell', async (t) => {
  const terminal = aTerminal()
  t.equal(await main(['completion', 'tcsh'], terminal), 2)
  t.match(terminal.said.err, 'there is completion for bash, zsh, fish, not for "tcsh"')
})

t.test(
  'completion bash completes verbs, options and values in a real bash',
  { skip: isThere('bash') ? false : 'there is no bash on this machine' },
  async (t) => {
    const dir = t.testdir({ folder: {}, file: '' })
    writeFileSync(join(dir, 'completion.bash'), await script('bash'))
    const cases: readonly (readonly [readonly string[], readonly string[]])[] = [
      [['che'], ['check']],
      [['account', ''], ['add']],
      [['account', 'a'], ['add']],
      [['account', 'add', '--em'], ['--email']],
      [['check', '--pol'], ['--policies']],
      [['check', '--config', ''], ['folder']],
      [
        ['schema', '--kind', ''],
        ['Policy', 'PolicyTest'],
      ],
      [['fmt', 'fi'], ['file']],
      [['completion', 'f'], ['fish']],
      [['import', '--check', 'fi'], ['file']],
      [
        ['explain', '--he'],
        ['--header', '--help'],
      ],
      [['nothing', ''], []],
    ]
    const lines = cases.map(
      ([words]) =>
        `COMP_WORDS=(scopegate ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}; COMPREPLY=(); _scopegate; echo "\${COMPREPLY[*]}"`,
    )
    const { stdout, stderr } = spawnSync(
      'bash',
      ['--norc', '-c', `. ./completion.bash\n${lines.join('\n')}`],
      { cwd: dir, encoding: 'utf8' },
    )
    t.equal(stderr, '')
    t.same(
      stdout
        .trimEnd()
        .split('\n')
        .concat(cases.length > stdout.trimEnd().split('\n').length ? [''] : []),
      cases.map(([, replies]) => replies.join(' ')),
    )
  },
)

t.test(
  'completion zsh and fish name every command and option, and an installed shell completes them',
  async (t) => {
    for (const shell of ['zsh', 'fish']) {
      const text = await script(shell)
      for (const { name, options } of VERBS) {
        for (const word of name.split(' ')) t.ok(text.includes(word), `${shell} ${word}`)
        for (const option of options)
          t.ok(
            text.includes(
              shell === 'fish'
                ? `-l ${option.name} `
                : `--${option.name}${option.value === undefined ? '' : '='}[`,
            ),
            option.name,
          )
      }
      const file = join(t.testdir({ script: text }), 'script')
      if (isThere(shell)) t.equal(spawnSync(shell, ['-n', file]).status, 0, shell)
    }
    if (isThere('fish')) await completesInFish(t)
  },
)
