import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../cli/main.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

const policyOf = (name: string, path: string) =>
  `apiVersion: scopegate/v1\nkind: Policy\nname: ${name}\nowner: someone\nupstream: learning-platform\ndefaults: { anonymous: challenge }\nroutes:\n  - name: all\n    match: { methods: [GET], path: "${path}" }\ntests:\n  - it: challenges\n    request: { method: GET, path: "${path.replace('/**', '/7')}" }\n    expect: { decision: challenge, route: all }\n`

function aFolder(t: Test, policies: Readonly<Record<'courses' | 'billing', string>>): string {
  const dir = mkdtempSync(join(tmpdir(), 'scopegate-cli-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  cpSync(join(findPackageRoot(), 'config'), join(dir, 'config'), { recursive: true })
  const file = join(dir, 'config', 'gateway.yaml')
  const entry = (name: string) =>
    `  - name: ${name}\n    folder: ../teams/${name}\n    owner: team-${name}\n    permissions: { pathPrefixes: [/api/${name}], upstreams: [learning-platform] }\n`
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(
      'policies: ../policies\n',
      `policySources:\n${entry('courses')}${entry('billing')}`,
    ),
  )
  for (const [name, text] of Object.entries(policies)) write(dir, name, text)
  return dir
}

function write(dir: string, source: string, text: string): void {
  mkdirSync(join(dir, 'teams', source), { recursive: true })
  writeFileSync(join(dir, 'teams', source, 'team.policy.yaml'), text)
}

const VALID = { courses: policyOf('p', '/api/courses/**'), billing: policyOf('p', '/api/billing/**') }

async function run(dir: string, ...args: readonly string[]) {
  const terminal = aTerminal({ folder: dir, env: { PATH: process.env['PATH'], HOME: dir } })
  return { code: await main([...args], terminal), ...terminal.said }
}

t.test('check reads all policy sources, and shows the source and owner of each problem', async (t) => {
  const dir = aFolder(t, VALID)
  const { code, out } = await run(dir, 'check')
  t.equal(code, 0, out)
  t.match(
    out,
    'source courses (owner team-courses): 1 route\nsource billing (owner team-billing): 1 route\nok: 2 policies',
  )
  t.match(out, '2 tests passed')
  write(dir, 'courses', policyOf('p', '/api/billing/7'))
  const broken = await run(dir, 'check', '--json')
  t.equal(broken.code, 3)
  t.match(JSON.parse(broken.out), {
    ok: false,
    sources: [
      { name: 'courses', owner: 'team-courses', state: 'invalid', errors: 1 },
      { name: 'billing', state: 'valid', errors: 0, routes: 1 },
    ],
    problems: [
      {
        code: 'P401',
        message: /"\/api\/billing\/7" belongs to source billing \(owner team-billing\)/,
        line: 9,
        source: 'courses',
        owner: 'team-courses',
      },
    ],
  })
})

t.test('--source and the folder of a source check only this source, with its permissions', async (t) => {
  const dir = aFolder(t, { ...VALID, courses: policyOf('p', '/api/billing/7') })
  t.equal((await run(dir, 'check', '--source', 'billing')).code, 0)
  t.equal((await run(dir, 'check', 'teams/billing')).code, 0)
  t.equal((await run(dir, 'check', 'teams/billing/team.policy.yaml')).code, 0)
  for (const args of [['--source', 'courses'], ['teams/courses']]) {
    const { code, out } = await run(dir, 'check', ...args)
    t.equal(code, 3)
    t.match(out, 'error[P401]')
  }
  const unknown = await run(dir, 'check', '--source', 'orders')
  t.equal(unknown.code, 2)
  t.match(unknown.err, 'gateway.yaml has no policy source "orders" (known: courses, billing)')
  t.equal((await run(dir, 'check', '--source', 'billing', 'teams/billing')).code, 2)
})

t.test('routes and explain show the source of a route', async (t) => {
  const dir = aFolder(t, VALID)
  const { out } = await run(dir, 'routes')
  t.match(out, /^SOURCE +METHODS/)
  t.match(out, /^billing +GET +\/api\/billing\/\*\* .* team-billing +billing\/p\/all /m)
  const json = JSON.parse((await run(dir, 'routes', '--source', 'courses', '--json')).out)
  t.match(json.routes, [{ name: 'courses/p/all', policySource: 'courses', owner: 'team-courses' }])
  t.equal(json.routes.length, 1)
  const explained = await run(dir, 'explain', 'GET', '/api/billing/7')
  t.match(explained.out, /billing\/p\/all .*\(source billing, owner team-billing\)/)
  t.match(JSON.parse((await run(dir, 'explain', 'GET', '/api/billing/7', '--json')).out), {
    route: { policySource: 'billing', owner: 'team-billing' },
  })
})

t.test('diff compares the sources of a revision with the sources of the working folder', async (t) => {
  const dir = aFolder(t, VALID)
  const git = (...args: readonly string[]) =>
    execFileSync(
      'git',
      ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', '-c', 'commit.gpgsign=false', ...args],
      {
        cwd: dir,
        stdio: 'ignore',
      },
    )
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-q', '-m', 'first')
  write(
    dir,
    'billing',
    VALID.billing
      .replace('challenge }\nroutes', 'deny }\nroutes')
      .replace('decision: challenge', 'decision: deny'),
  )
  const { code, out, err } = await run(dir, 'diff', 'main', '.')
  t.equal(code, 1, err)
  t.match(out, '~ billing/p/all [billing, team-billing]   GET /api/billing/**')
  const json = JSON.parse((await run(dir, 'diff', 'main', '.', '--json')).out)
  t.match(json.changes, [{ now: 'billing/p/all', source: 'billing', owner: 'team-billing' }])
  t.equal(json.changes.length, 1)
  t.equal((await run(dir, 'diff', 'main', '.', '--source', 'courses')).code, 0)
})

t.test('check, routes and explain show the upstreams and scopes that a source defines', async (t) => {
  const text = policyOf('p', '/api/billing/**')
    .replace('learning-platform', 'own')
    .replace('tests:', '    scopes: { all: ["billing:read"] }\ntests:')
  const dir = aFolder(t, { ...VALID, billing: text })
  const config = join(dir, 'config', 'gateway.yaml')
  writeFileSync(
    config,
    readFileSync(config, 'utf8').replace(
      '{ pathPrefixes: [/api/billing], upstreams: [learning-platform] }',
      '{ pathPrefixes: [/api/billing], addresses: ["http://billing.internal"], scopes: ["billing:*"] }',
    ),
  )
  const folder = join(dir, 'teams', 'billing')
  writeFileSync(
    join(folder, 'scopes.yaml'),
    'scopes:\n  - { name: "billing:read", description: a, group: b, sensitivity: read }\n',
  )
  writeFileSync(join(folder, 'upstreams.yaml'), 'own: { url: "http://billing.internal" }\n')
  const checked = await run(dir, 'check')
  t.equal(checked.code, 0, checked.out)
  const { out } = await run(dir, 'routes', '--json', '--source', 'billing')
  t.match(JSON.parse(out), { routes: [{ upstream: 'billing/own', policySource: 'billing' }] })
  const allowed = await run(dir, 'explain', 'GET', '/api/billing/7', '--scope', 'billing:read')
  t.match(allowed.out, 'billing/own')

  writeFileSync(join(folder, 'upstreams.yaml'), 'own: { url: "http://127.0.0.1:9090" }\n')
  const broken = await run(dir, 'check', '--json')
  t.equal(broken.code, 3)
  t.match(JSON.parse(broken.out), {
    problems: [{ code: 'P407', source: 'billing', owner: 'team-billing', line: 1, column: 13 }],
  })
})
