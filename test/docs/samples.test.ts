import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// These tests run each command of a page. The command must succeed, and the page must contain its output.
const ROOT = findPackageRoot()
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')
/**
 * These tests do not run these commands, because a command needs a running service or does not exit. Other tests run
 * the commands.
 */
const NOT_RUN =
  /^(?:doctor|dev|playground|gateway|authorization-server|token|account|client|grant|session|completion) |^check --watch|--live |--url /
const PAGES = [
  'README.md',
  'docs/command-line.md',
  'docs/checking.md',
  'docs/openapi.md',
  'docs/reviewing-policies.md',
]

type Sample = { readonly command: string; readonly output: string }

/**
 * Returns the `scopegate` commands of a page. The output of a command follows the command if the command has a prompt.
 */
function samplesOf(page: string): readonly Sample[] {
  // The steps of a workflow have no output on the page.
  const samples: Sample[] = [...page.matchAll(/^- run: npx scopegate (.*)$/gm)].map(([, command = '']) => ({
    command,
    output: '',
  }))
  for (const [, block = ''] of page.matchAll(/^```(?:sh|console)?\n([\s\S]*?)^```$/gm)) {
    const parts = block.split(/^(?=\$ )/m)
    for (const part of parts) {
      const [first = '', ...rest] = part.split('\n')
      const lines = part.startsWith('$ ') ? [first.slice(2)] : [first, ...rest]
      for (const line of lines) {
        const [, command] = /^(?:npx )?scopegate (.*?)(?:\s+#.*)?$/.exec(line) ?? []
        if (command === undefined) continue
        samples.push({ command, output: part.startsWith('$ ') ? rest.join('\n').trim() : '' })
      }
    }
  }
  return samples
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
  const [, policy = ''] = /^```yaml\n(apiVersion[\s\S]*?)^```$/m.exec(read('README.md')) ?? []
  writeFileSync(join(folder, 'policies/lecture-notes.policy.yaml'), policy)
  return folder
}

/** Returns the words of the first command of a line, without quotes. Ignores redirections and later commands. */
function wordsOf(command: string): readonly string[] {
  const [shown = ''] = command.split(/ > | && | \| /)
  return [...shown.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '')
}

for (const name of PAGES)
  t.test(`the commands of ${name} work and print the shown output`, async (t) => {
    const folder = aProject(t)
    // Changes the working directory, because the output shows paths relative to the working directory.
    const before = process.cwd()
    process.chdir(folder)
    t.teardown(() => process.chdir(before))
    const samples = samplesOf(read(name)).filter(({ command }) => !NOT_RUN.test(`${command} `))
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
