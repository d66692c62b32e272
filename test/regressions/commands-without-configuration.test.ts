import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../cli/main.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// Before the fixes, a command in a wrong folder used the policies or the configuration of the package without a notice.
// A pipeline with this mistake passed.

const CONTRACT = `openapi: 3.1.0
paths: { /a: { get: { operationId: readA, security: [{ o: [a.read] }] } } }
components: { securitySchemes: { o: { type: oauth2, flows: { clientCredentials: { scopes: { a.read: A } } } } } }
`

async function run(folder: string, ...args: readonly string[]) {
  const terminal = aTerminal({ folder })
  return { code: await main(args, terminal), ...terminal.said }
}

function aFolder(t: Test) {
  const folder = t.testdir({ 'openapi.yaml': CONTRACT, policies: {} })
  return (...args: readonly string[]) => run(folder, ...args)
}

t.test('check, test and fmt report a folder without a configuration', async (t) => {
  const inFolder = aFolder(t)
  for (const command of ['check', 'test', 'fmt']) {
    const { err } = await inFolder(command, ...(command === 'fmt' ? ['--check'] : []))
    t.match(err, /found no gateway\.yaml in .* and the policies of .*scopegate init\n/, command)
  }
  t.equal((await run(process.cwd(), 'check', '--no-tests')).err, '')
})

t.test('check, test and import report that they compare with the configuration of the package', async (t) => {
  const inFolder = aFolder(t)
  for (const args of [
    ['check', 'policies'],
    ['test', 'policies'],
    ['import', 'openapi.yaml'],
  ]) {
    const { err } = await inFolder(...args)
    t.match(
      err,
      /^scopegate: found no gateway\.yaml .* uses the configuration of the Scopegate package \(/,
      `${args}`,
    )
    const shipped = await inFolder(...args, '--config', join(process.cwd(), 'config'))
    t.notMatch(shipped.err, 'found no gateway.yaml', `${args} with --config`)
  }
})

t.test('a file as the folder of the configuration is a usage error that names the folder', async (t) => {
  const file = join(process.cwd(), 'config/gateway.yaml')
  const message =
    /^scopegate: --config must be the folder of the configuration, but config\/gateway\.yaml is a file\. Use its folder: config$/
  for (const args of [['check'], ['gateway'], ['client', 'list']]) {
    const { code, out, err } = await run(process.cwd(), ...args, '--config', file)
    t.match({ code, out, err: err.trim() }, { code: 2, out: '', err: message }, `${args}`)
  }
  const terminal = aTerminal({ env: { SCOPEGATE_CONFIG_DIR: file } })
  t.equal(await main(['check', '--json'], terminal), 2)
  t.match(JSON.parse(terminal.said.err), {
    error: 'usage',
    message: /SCOPEGATE_CONFIG_DIR must be the folder/,
  })
})

t.test('import prints a next step for the written file and its configuration', async (t) => {
  const inFolder = aFolder(t)
  t.match(await inFolder('import', 'openapi.yaml'), {
    code: 3,
    err: /upstream is empty[\s\S]*--upstream NAME sets the entry of upstreams\.yaml/,
  })
  const options = ['--upstream', 'learning-platform', '--catalogue']
  const shipped = await inFolder(
    'import',
    'openapi.yaml',
    ...options,
    'a.yaml',
    '--output',
    'policies/a.policy.yaml',
  )
  t.match(
    shipped.err,
    /add the scopes to scopes\.yaml of your configuration\n.* Now: scopegate check --strict policies\/a\.policy\.yaml\n/,
  )
  t.equal((await inFolder('init', '.')).code, 0)
  t.equal(
    (
      await inFolder(
        'import',
        'openapi.yaml',
        ...options,
        'config/scopes.yaml',
        '--output',
        'b.yaml',
        '--force',
      )
    ).code,
    0,
  )
  const own = await inFolder(
    'import',
    'openapi.yaml',
    '--config',
    'config',
    ...options,
    'b.yaml',
    '--output',
    'c.policy.yaml',
  )
  t.match(
    own.err,
    /wrote c\.policy\.yaml: .* Now: scopegate check --strict --config config c\.policy\.yaml\n/,
  )
})
