import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { COMMANDS } from '../../cli/commands.ts'
import { main } from '../../cli/main.ts'
import { CONFIG_OPTION } from '../../cli/shared-options.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

const ROOT = findPackageRoot()
const POLICIES = 'the configuration and the policies'
const CONFIG = 'the configuration'
const GATEWAY_FILE = 'gateway.yaml'
const SERVER_FILE = 'authorization-server.yaml'

async function run(folder: string, args: readonly string[]) {
  const env = { PATH: process.env['PATH'], HOME: folder }
  const terminal = aTerminal({ folder, env, typed: 'correct horse battery staple\n' })
  return { code: await main(args, terminal), ...terminal.said }
}

function aFolder(t: Test): string {
  const folder = t.testdir({ 'openapi.yaml': 'openapi: 3.1.0\npaths: {}\n' })
  cpSync(join(ROOT, 'policies'), join(folder, 'rules'), { recursive: true })
  return folder
}

/** A file as the data folder: commands of the authorization server fail. */
const DATA = ['--data', join(ROOT, 'package.json')]

/** Arguments of each command with `--config`, and the files of the package that the command uses. */
const USES: Readonly<Record<string, readonly (readonly [args: readonly string[], used: string])[]>> = {
  check: [
    [['check', '--json'], POLICIES],
    [['check', 'rules'], CONFIG],
  ],
  test: [
    [['test', '--json'], POLICIES],
    [['test', 'rules'], CONFIG],
  ],
  fmt: [[['fmt', '--check'], POLICIES]],
  import: [[['import', 'openapi.yaml', '--json'], CONFIG]],
  explain: [
    [['explain', 'GET', '/api/courses', '--json'], POLICIES],
    [['explain', 'GET', '/api/courses', '--policies', 'rules'], CONFIG],
  ],
  routes: [
    [['routes', '--json'], POLICIES],
    [['routes', '--policies', 'rules'], CONFIG],
  ],
  'export openapi': [
    [['export', 'openapi'], POLICIES],
    [['export', 'openapi', '--policies', 'rules'], CONFIG],
  ],
  diff: [
    [['diff', 'rules', 'rules', '--json'], CONFIG],
    [['diff', '.', 'rules'], CONFIG],
  ],
  // A file as the data folder prevents the start.
  dev: [[['dev', '--data', join(ROOT, 'package.json')], POLICIES]],
  'keys list': [[['keys', 'list', ...DATA], CONFIG]],
  'keys rotate': [[['keys', 'rotate', ...DATA], CONFIG]],
  'keys retire': [[['keys', 'retire', ...DATA], CONFIG]],
  ...Object.fromEntries(
    COMMANDS.filter(({ name }) => /^(account|client|grant|session) /.test(name)).map(
      ({ name, positionals }) => [
        name,
        [[[...name.split(' '), ...(positionals === undefined ? [] : ['one']), ...DATA], CONFIG]],
      ],
    ),
  ),
}

const noticeOf = (searched: readonly string[], used: string, file: string) =>
  `scopegate: found no ${file} in ${searched.join(' or ')}, so the command uses ${used} of the Scopegate package (${join(ROOT, 'config')}). To use your configuration: --config DIR. To create a configuration: scopegate init\n`

// services.test.ts starts the services as programs.
for (const { name, options, serves } of COMMANDS)
  if (options.some((one) => one.name === 'config') && !serves)
    t.test(`${name} reports once that it uses the configuration of the package`, async (t) => {
      const folder = aFolder(t)
      for (const [args, used] of USES[name] ?? [[[name], POLICIES]]) {
        const { code, out, err } = await run(folder, args)
        const named = await run(folder, [...args, '--config', join(ROOT, 'config')])
        const readsPolicies = options.includes(CONFIG_OPTION)
        const file = readsPolicies ? GATEWAY_FILE : SERVER_FILE
        const namesPolicies = name !== 'diff' && args.includes('rules')
        const searched = [
          join(folder, 'config'),
          ...(readsPolicies && !namesPolicies ? [join(folder, '../config')] : []),
        ]
        t.equal(err, `${noticeOf(searched, used, file)}${named.err}`, args.join(' '))
        t.same({ code, out }, { code: named.code, out: named.out }, `${args.join(' ')}: the same output`)
      }
    })

t.test('a command does not report the configuration of the package without using it', async (t) => {
  const folder = aFolder(t)
  for (const side of ['a', 'b'])
    for (const name of ['config', 'policies'])
      cpSync(join(ROOT, name), join(folder, side, name), { recursive: true })
  t.match(await run(folder, ['diff', 'a', 'b']), { code: 0, err: '' })
  t.match(await run(join(folder, 'a'), ['routes']), { code: 0, err: '' })
  const live = await run(folder, ['routes', '--url', 'http://127.0.0.1:1'])
  t.notMatch(live.err, 'Scopegate package')
})

t.test('a command of the authorization server uses ./config without a notice', async (t) => {
  const folder = aFolder(t)
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  writeFileSync(join(folder, 'config', SERVER_FILE), 'unknownKey: true\n')
  for (const args of [
    ['keys', 'list'],
    ['account', 'add', 'one'],
    ['grant', 'list'],
  ]) {
    const { code, err } = await run(folder, args)
    t.equal(code, 3)
    t.match(err, 'unknownKey')
    t.notMatch(err, 'Scopegate package', args.join(' '))
  }
})

t.test('a command finds the configuration beside the policies', async (t) => {
  const project = t.testdir({ elsewhere: { deep: {} } })
  for (const name of ['config', 'policies'])
    cpSync(join(ROOT, name), join(project, name), { recursive: true })
  const gateway = join(project, 'config/gateway.yaml')
  writeFileSync(gateway, readFileSync(gateway, 'utf8').replace(/^name: .*$/m, 'name: Beside'))
  for (const [folder, ...args] of [
    ['policies', 'check', '.'],
    ['policies', 'check', 'courses.policy.yaml', '--no-tests'],
    ['policies', 'test', '.'],
    ['policies', 'routes'],
    ['elsewhere/deep', 'check', '../../policies', '--no-tests'],
    ['elsewhere/deep', 'routes', '--policies', '../../policies'],
  ] as const)
    t.match(await run(join(project, folder), args), { code: 0, err: '' }, `${args.join(' ')} in ${folder}`)
  const { out } = await run(join(project, 'policies'), ['export', 'openapi'])
  t.equal(JSON.parse(out).info.title, 'Beside')
})
