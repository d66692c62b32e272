import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'

const ROOT = findPackageRoot()
const read = (name: string) => readFileSync(join(ROOT, name), 'utf8')

type Workflow = {
  readonly jobs: { readonly policies: { readonly steps: readonly { readonly run?: string }[] } }
}

t.test(
  'the steps for a pull request accept a change without wider access, and fail for wider access',
  async (t) => {
    const workflow = documentedBlock('docs/reviewing-policies.md', 'pull_request:')
    const steps = (parse(workflow) as Workflow).jobs.policies.steps.flatMap(({ run }) =>
      run === undefined ? [] : [run],
    )
    t.equal(steps.length, 3)
    const dir = t.testdir({ policies: { 'courses.policy.yaml': read('policies/courses.policy.yaml') } })
    cpSync(join(ROOT, 'config'), join(dir, 'config'), { recursive: true })
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', ...args], {
        cwd: dir,
        stdio: 'ignore',
      })
    git('init', '-q', '-b', 'base')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    git('update-ref', 'refs/remotes/origin/main', 'HEAD')
    const run = async () => {
      const codes: (number | undefined)[] = []
      for (const step of steps) {
        const args = step.replace('"origin/$BASE"', 'origin/main').split(' ').slice(2)
        codes.push(await main(args, aTerminal({ folder: dir, env: { PATH: process.env['PATH'] } })))
      }
      return codes
    }
    t.same(await run(), [0, 0, 0])
    const file = join(dir, 'policies/courses.policy.yaml')
    writeFileSync(file, readFileSync(file, 'utf8').replace('timeout: 5s', 'timeout: 6s'))
    t.same(await run(), [0, 0, 0])
    const [withoutTests = ''] = readFileSync(file, 'utf8').split('\ntests:')
    writeFileSync(file, withoutTests.replaceAll('all: [courses:write]', 'all: [courses:read]'))
    t.same(await run(), [0, 0, 1])
  },
)
