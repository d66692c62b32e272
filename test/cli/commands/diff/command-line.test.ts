import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../../../cli/main.ts'
import { openPolicySet } from '../../../../cli/open-policy-set.ts'
import { toResourceOptions } from '../../../../gateway/config/to-resources.ts'
import { readImplication } from '../../../../oauth/scope.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

const ROOT = findPackageRoot()
const COURSES = readFileSync(join(ROOT, 'policies/courses.policy.yaml'), 'utf8')
const WIDER = COURSES.replace(
  'scopes: { all: [courses:write] }',
  'scopes: { any: [courses:write, courses:read] }',
)

const diff = async (folder: string, ...args: string[]) => {
  const terminal = aTerminal({ folder, env: { PATH: process.env['PATH'], HOME: folder } })
  return { code: await main(['diff', ...args], terminal), ...terminal.said }
}

/** Creates a git repository with the shipped configuration and the policy `courses`. */
function aRepository(t: Test): string {
  const dir = t.testdir({ policies: { 'courses.policy.yaml': COURSES } })
  cpSync(join(ROOT, 'config'), join(dir, 'config'), { recursive: true })
  git(dir, 'init', '-q', '-b', 'main')
  git(dir, 'add', '.')
  git(dir, 'commit', '-q', '-m', 'first')
  return dir
}

function git(dir: string, ...args: string[]): void {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.test', '-c', 'commit.gpgsign=false']
  execFileSync('git', [...who, ...args], { cwd: dir, stdio: 'ignore' })
}

t.test('diff compares folders, and prints the changes and their numbers', async (t) => {
  const dir = t.testdir({
    old: { 'courses.policy.yaml': COURSES },
    new: { 'courses.policy.yaml': WIDER.replace(/\n {2}- name: delete-course[\s\S]*$/, '\n') },
  })
  cpSync(join(ROOT, 'config'), join(dir, 'config'), { recursive: true })
  const { code, out, err } = await diff(dir, 'old', 'new')
  t.equal(err, '')
  t.equal(code, 1)
  t.equal(
    out,
    `~ courses/create-course   POST /api/courses
    scopes     all: courses:write  ->  any: courses:write, courses:read       WIDENED
- courses/delete-course   DELETE /api/courses/{id}                            now 405
1 widened, 0 narrowed, 0 new, 1 gone
`,
  )
  t.same(await diff(dir, 'old', 'old'), { code: 0, out: 'nothing changes for callers\n', err: '' })
  for (const [kinds, expected] of [
    [['widened'], 1],
    [['narrowed'], 0],
    [['narrowed', 'gone'], 1],
    [['changed', 'new'], 0],
  ] as const)
    t.equal((await diff(dir, 'old', 'new', ...kinds.flatMap((kind) => ['--fail-on', kind]))).code, expected)
  const json = JSON.parse((await diff(dir, 'old', 'new', '--json')).out)
  t.match(json, {
    same: false,
    counts: { widened: 1, narrowed: 0, changed: 0, new: 0, gone: 1 },
    changes: [
      {
        kind: 'changed',
        old: 'courses/create-course',
        now: 'courses/create-course',
        methods: ['POST'],
        path: '/api/courses',
        widened: true,
        narrowed: false,
        details: [{ what: 'scopes', gains: true, loses: false }],
      },
      { kind: 'gone', old: 'courses/delete-course', statuses: [405] },
    ],
  })
})

t.test('diff rejects an invalid comparison, and names the invalid files of a side', async (t) => {
  const dir = t.testdir({
    old: { 'courses.policy.yaml': COURSES },
    broken: { 'a.policy.yaml': 'apiVersion: x\n' },
  })
  for (const args of [
    ['old'],
    ['old', 'old', 'old'],
    [],
    ['old', 'old', '--live', 'http://127.0.0.1:1'],
    ['old', 'old', '--fail-on', 'wider'],
  ])
    t.equal((await diff(dir, ...args)).code, 2, args.join(' '))
  const { code, err, out } = await diff(dir, 'old', 'broken')
  t.equal(code, 3)
  t.equal(out, '')
  t.match(err, /error\[P10\d\][\s\S]*broken\/a\.policy\.yaml:1:13/)
})

t.test('diff reads git revisions: policies of a folder, or policies with their configuration', async (t) => {
  const dir = aRepository(t)
  writeFileSync(join(dir, 'policies/courses.policy.yaml'), WIDER)
  // Uses a separate temporary folder, because other tests write to the temporary folder of the machine.
  const temporary = join(dir, 'temporary')
  mkdirSync(temporary)
  const { TMPDIR } = process.env
  process.env['TMPDIR'] = temporary
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
  })
  t.match(await diff(dir, 'main:policies', 'policies'), { code: 1, out: /1 widened/ })
  t.match(await diff(dir, 'HEAD', 'policies'), { code: 1, out: /1 widened/ })
  t.same(await diff(dir, 'HEAD', 'HEAD:policies'), { code: 0, out: 'nothing changes for callers\n', err: '' })
  // The scope catalogue of a revision defines its scopes, so a new implication widens access.
  const scopes = join(dir, 'config/scopes.yaml')
  writeFileSync(
    scopes,
    readFileSync(scopes, 'utf8').replace(
      'description: Create, change and delete courses\n',
      '$&    implies: [courses:read]\n',
    ),
  )
  git(dir, 'commit', '-aqm', 'second')
  const { out } = await diff(dir, 'HEAD~1', 'HEAD')
  t.match(
    out,
    /courses\/list-courses .*\n +scopes +all: courses:read {2}-> {2}all: courses:read \(or courses:write\) +WIDENED/,
  )
  // The error contains the name of the invalid revision.
  writeFileSync(join(dir, 'policies/courses.policy.yaml'), 'name: [\n')
  git(dir, 'commit', '-aqm', 'third')
  t.match(await diff(dir, 'HEAD~1', 'HEAD:policies'), {
    code: 3,
    err: /--> HEAD:policies\/courses\.policy\.yaml:1/,
  })
  t.same(readdirSync(temporary), [], 'nothing is left behind')
})

t.test('diff never treats the name of a revision as an option', async (t) => {
  const dir = aRepository(t)
  for (const name of [
    '--output=pwned',
    '-h',
    '$(touch pwned)',
    '`touch pwned`',
    'main; touch pwned',
    'main\ntouch pwned',
    'main\0',
    '',
    'main..main',
    '^main',
    'main:../../etc',
    'main:/etc',
    ':policies',
    'x'.repeat(10_000),
    '@{-1}',
    'main^{tree}',
  ]) {
    const { code, out, err } = await diff(dir, '--', name, 'policies')
    t.equal(code, 2, JSON.stringify(name.slice(0, 40)))
    t.equal(out, '')
    t.match(err, /^scopegate: /)
  }
  t.notOk(existsSync(join(dir, 'pwned')))
})

t.test('diff reads no links or folders of a revision, and no files outside it', async (t) => {
  const dir = aRepository(t)
  writeFileSync(
    join(dir, 'secret.policy.yaml'),
    COURSES.replace('name: courses', 'name: secret').replaceAll('/api/courses', '/api/secret'),
  )
  symlinkSync('../secret.policy.yaml', join(dir, 'policies/secret.policy.yaml'))
  mkdirSync(join(dir, 'policies/more.policy.yaml'))
  writeFileSync(join(dir, 'policies/more.policy.yaml/x.policy.yaml'), COURSES)
  git(dir, 'add', '.')
  git(dir, 'commit', '-qm', 'links')
  t.match(await diff(dir, 'HEAD~1:policies', 'HEAD:policies'), {
    code: 0,
    out: 'nothing changes for callers\n',
  })
})

t.test('diff reports a missing repository and a missing git', async (t) => {
  const dir = t.testdir({ old: { 'courses.policy.yaml': COURSES } })
  const terminal = aTerminal({ folder: tmpdir(), env: { PATH: process.env['PATH'] } })
  t.equal(await main(['diff', 'main', join(dir, 'old')], terminal), 2)
  t.match(terminal.said.err, 'the current folder is not in a git repository')
  rmSync(join(dir, 'old/courses.policy.yaml'))
})

t.test('diff compares with the active policies of a gateway', async (t) => {
  const { set } = await openPolicySet({ configDir: join(ROOT, 'config') })
  if (set === undefined) throw new Error('the shipped policies are not valid')
  const inForce = JSON.stringify({
    hash: set.compiled.hash,
    routes: set.policies.routes,
    implication: Object.fromEntries(readImplication(set.catalogue)),
    // The gateway does not have the address of the compared files. diff compares API paths without addresses.
    resources: {
      ...toResourceOptions(set.gateway),
      baseUrl: 'https://api.example.test',
      issuers: ['https://api.example.test'],
    },
  })
  const server = createServer((request, response) =>
    request.url === '/policies' ? response.end(inForce) : response.writeHead(404).end(),
  ).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.on('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const dir = t.testdir({})
  for (const name of ['config', 'policies']) cpSync(join(ROOT, name), join(dir, name), { recursive: true })
  t.same(await diff(dir, '--live', url, 'policies'), {
    code: 0,
    out: 'nothing changes for callers\n',
    err: '',
  })
  writeFileSync(join(dir, 'policies/courses.policy.yaml'), WIDER)
  t.match(await diff(dir, '--live', url, 'policies', '--fail-on', 'widened'), { code: 1, out: /1 widened/ })
  t.equal((await diff(dir, '--live', `${url}/nothing`, 'policies')).code, 1)
})

t.test('diff reads the policies in nested folders of a revision', async (t) => {
  const dir = aRepository(t)
  mkdirSync(join(dir, 'policies/team/deeper'), { recursive: true })
  for (const [path, name] of [
    ['policies/team/courses.policy.yaml', 'team'],
    ['policies/team/deeper/a.policy.yaml', 'deeper'],
    ['policies/team/.hidden.policy.yaml', 'hidden'],
  ] as const)
    writeFileSync(
      join(dir, path),
      COURSES.replace('name: courses', `name: ${name}`).replaceAll('/api/courses', `/api/${name}`),
    )
  git(dir, 'add', '.')
  git(dir, 'commit', '-qm', 'nested')
  const { code, out, err } = await diff(dir, 'HEAD~1', 'HEAD:policies', '--json')
  t.equal(err, '')
  t.equal(code, 1)
  const { changes } = JSON.parse(out) as { changes: readonly { now?: string }[] }
  t.ok(changes.length > 0)
  t.same(
    changes.filter(({ now }) => now?.startsWith('team/') !== true),
    [],
  )
  t.same(await diff(dir, 'HEAD', 'policies'), { code: 0, out: 'nothing changes for callers\n', err: '' })
})

t.test('diff compares the upstreams of two configurations, and prints no secret', async (t) => {
  const dir = aRepository(t)
  const file = join(dir, 'config', 'upstreams.yaml')
  const text = readFileSync(file, 'utf8')
  const changed = (from: string, to: string) => {
    t.ok(text.includes(from))
    writeFileSync(file, text.replace(from, to))
    return diff(dir, 'HEAD', '.')
  }
  const platform = 'learning-platform:\n  url: http://127.0.0.1:8082\n  timeout: 10s\n'
  const same =
    'learning-platform:\n  urls: [http://127.0.0.1:8082]\n  timeout: 10000ms\n  ejection: { failures: 5 }\n'
  t.same(await changed(platform, same), { code: 0, out: 'nothing changes for callers\n', err: '' })
  writeFileSync(join(dir, 'config', 'key'), 'top-secret')
  const { code, out } = await changed(
    platform,
    'learning-platform:\n  url: http://127.0.0.1:8083\n  maxConnections: 7\n  credentials: { header: { name: X-Key, valueFile: ./key } }\nother:\n  url: http://127.0.0.1:9\n',
  )
  t.equal(code, 1)
  t.match(out, /^~ upstream learning-platform$/m)
  t.match(out, /^ {4}urls {2}http:\/\/127\.0\.0\.1:8082 {2}-> {2}http:\/\/127\.0\.0\.1:8083$/m)
  t.match(out, /^ {4}maxConnections {2}- {2}-> {2}7$/m)
  t.match(out, /^ {4}credentials\.header\.valueFile {2}- {2}-> {2}key$/m)
  t.match(out, /^\+ upstream other$/m)
  t.match(out, /^0 widened, 0 narrowed, 2 changed, 0 new, 0 gone$/m)
  t.notMatch(out, 'top-secret')
  t.equal((await diff(dir, 'HEAD', '.', '--fail-on', 'changed')).code, 1)
  t.equal((await diff(dir, 'HEAD', '.', '--fail-on', 'widened')).code, 0)
  const json = JSON.parse((await diff(dir, 'HEAD', '.', '--json')).out)
  t.match(json, {
    same: false,
    changes: [],
    upstreams: [{ kind: 'changed' }, { kind: 'new', name: 'other' }],
  })
  t.match(
    json.upstreams[0].details.find(({ key }: { key: string }) => key === 'maxConnections'),
    {
      old: null,
      now: 7,
    },
  )
  git(dir, 'add', '.')
  git(dir, 'commit', '-q', '-m', 'second')
  t.equal((await diff(dir, 'HEAD', '.')).code, 0, 'the relative path of a file is not a change')
  for (const folder of ['config', 'policies']) {
    mkdirSync(join(dir, 'prod'), { recursive: true })
    git(dir, 'mv', folder, `prod/${folder}`)
  }
  const moved = join(dir, 'prod', 'config', 'upstreams.yaml')
  const shared = readFileSync(moved, 'utf8').replace('./key', '../../shared/key')
  writeFileSync(moved, shared)
  git(dir, 'commit', '-q', '-a', '-m', 'third')
  const compareProd = () => diff(dir, 'HEAD', 'prod', '--config', 'prod/config')
  t.equal((await compareProd()).code, 0, 'the file can be anywhere in the repository')
  writeFileSync(moved, shared.replace('shared/key', 'shared/new-key'))
  t.match(
    (await compareProd()).out,
    /^ {4}\S+File {2}\.\.\/\.\.\/shared\/key {2}-> {2}\.\.\/\.\.\/shared\/new-key$/m,
  )
})

t.test('diff compares the upstreams that policy sources define', async (t) => {
  const dir = aRepository(t)
  const gateway = join(dir, 'config', 'gateway.yaml')
  writeFileSync(
    gateway,
    `${readFileSync(gateway, 'utf8').replace(/^policies:.*\n/m, '')}
policySources:
  - name: billing
    folder: ../policies/billing
    permissions: { pathPrefixes: [/api/billing], addresses: ['http://billing.test'] }
`,
  )
  mkdirSync(join(dir, 'policies/billing'))
  writeFileSync(
    join(dir, 'policies/billing/a.policy.yaml'),
    `apiVersion: scopegate/v1
kind: Policy
name: a
upstream: own
routes:
  - { name: a, match: { methods: [GET], path: /api/billing }, anonymous: challenge }
`,
  )
  const upstreams = join(dir, 'policies/billing/upstreams.yaml')
  writeFileSync(upstreams, 'own: { url: http://billing.test }\n')
  git(dir, 'add', '.')
  git(dir, 'commit', '-q', '-m', 'sources')
  t.same(await diff(dir, 'HEAD', '.'), { code: 0, out: 'nothing changes for callers\n', err: '' })
  writeFileSync(upstreams, 'own: { url: http://billing.test, maxConnections: 7 }\n')
  const { code, out } = await diff(dir, 'HEAD', '.')
  t.equal(code, 1)
  t.match(out, /^~ upstream billing\/own\n {4}maxConnections {2}- {2}-> {2}7$/m)
})
