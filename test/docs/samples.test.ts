import { execFileSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { documentedBlock, fencedBlocksOf } from '../fixtures/repository-texts.ts'

// These tests run each command of a page. The command must succeed, and the page must contain its output.
const ROOT = findPackageRoot()
/**
 * These tests do not run these commands, because a command needs a running service or does not exit. Other tests run
 * the commands.
 */
const NOT_RUN =
  /^(?:doctor|dev|playground|gateway|authorization-server|token|account|client|grant|session|completion) |^check --watch|--live |--url /
/** The blocks with commands. docs/command-line.md is a reference with one block for each command. */
const PAGES = {
  'README.md': [
    documentedBlock('README.md', '$ npx scopegate check'),
    documentedBlock('README.md', '$ npx scopegate explain'),
  ],
  'docs/command-line.md': fencedBlocksOf('docs/command-line.md').map(({ text }) => text),
  'docs/checking.md': [
    documentedBlock('docs/checking.md', 'scopegate check policies '),
    documentedBlock('docs/checking.md', '--format github'),
    documentedBlock('docs/checking.md', '--format sarif'),
  ],
  'docs/openapi.md': [documentedBlock('docs/openapi.md', 'scopegate export openapi')],
  'docs/reviewing-policies.md': [documentedBlock('docs/reviewing-policies.md', 'scopegate diff main .')],
}

type Sample = { readonly command: string; readonly output: string }

/**
 * Returns the `scopegate` commands of a block. The output of a command follows the command if the command has a prompt.
 */
function samplesOf(block: string): readonly Sample[] {
  return block.split(/^(?=\$ )/m).flatMap((part) => {
    const [first = '', ...rest] = part.split('\n')
    const hasPrompt = first.startsWith('$ ')
    const lines = hasPrompt ? [first.slice(2)] : [first, ...rest]
    return lines.flatMap((line) => {
      // A step of a workflow begins with `- run:`.
      const [, command] = /^(?:- run: )?(?:npx )?scopegate (.*?)(?:\s+#.*)?$/.exec(line) ?? []
      return command === undefined ? [] : [{ command, output: hasPrompt ? rest.join('\n').trim() : '' }]
    })
  })
}

/**
 * Creates a git repository with the shipped configuration and policies. The folders `before` and `after` contain copies
 * of the policies. The policy of the README is an uncommitted change.
 */
function aProject(t: Test): string {
  const folder = t.testdir({})
  for (const name of ['config', 'policies']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  for (const side of ['before', 'after'])
    cpSync(join(folder, 'policies'), join(folder, side), { recursive: true })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', ...args], {
      cwd: folder,
      stdio: 'ignore',
    })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-q', '-m', 'before')
  const policy = documentedBlock('README.md', 'kind: Policy')
  writeFileSync(join(folder, 'policies/lecture-notes.policy.yaml'), policy)
  return folder
}

/** Returns the words of the first command of a line, without quotes. Ignores redirections and later commands. */
function wordsOf(command: string): readonly string[] {
  const [shown = ''] = command.split(/ > | && | \| /)
  return [...shown.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
}

for (const [name, blocks] of Object.entries(PAGES))
  t.test(`the commands of ${name} work and print the shown output`, async (t) => {
    const folder = aProject(t)
    // Changes the working directory, because the output shows paths relative to the working directory.
    const before = process.cwd()
    process.chdir(folder)
    t.teardown(() => process.chdir(before))
    const samples = blocks.flatMap(samplesOf).filter(({ command }) => !NOT_RUN.test(`${command} `))
    t.ok(samples.length > 0, 'the page has samples')
    for (const { command, output } of samples) {
      const terminal = aTerminal({ folder, env: { PATH: process.env['PATH'] } })
      const code = await main(wordsOf(command), terminal)
      // Exit code 1 is a negative result, for example a denied request.
      t.ok(code === 0 || code === 1, `${command}: exit code ${code}\n${terminal.said.err}`)
      if (output === '') continue
      const { out } = terminal.said
      for (const line of output.split('\n')) {
        const [start = ''] = line.split('…')
        t.ok(
          out.split('\n').some((printed) => printed.startsWith(start.trimEnd())),
          `${command}: ${line}\n${out}`,
        )
      }
    }
  })
