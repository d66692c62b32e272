import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { readAuthorizationServerConfig } from '../../authorization-server/config.ts'
import { makeSigningKeys } from '../../authorization-server/keys/signing-keys.ts'
import { main } from '../../cli/main.ts'
import { parseSecretLines } from '../../platform/config/parse-secret-lines.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { registerClient } from '../fixtures/register-client.ts'
import { documentedBlock } from '../fixtures/repository-texts.ts'
import { startServer } from '../fixtures/start-authorization-server.ts'

// These tests run the commands of the guides, and read the settings of the guides.
const ROOT = findPackageRoot()
const read = (page: string) => readFileSync(join(ROOT, 'docs', page), 'utf8')
const server = await startServer(t)
const PASSWORD = 'correct horse battery staple'

/** Returns the `scopegate` commands in blocks of a page and in its text, without pipes. */
function commandsOf(page: string, blocks: readonly string[]): readonly string[] {
  const inText = [...read(page).matchAll(/`(scopegate [^`\n]+)`/g)].map(([, command = '']) => command)
  const lines = blocks.flatMap((block) => block.split('\n'))
  const inBlocks = lines.flatMap((line) => /(?:^|\| )(?:\$ )?(scopegate [^|]+)/.exec(line)?.[1] ?? [])
  return [...new Set([...inBlocks, ...inText].map((command) => command.trim().replace(/^scopegate /, '')))]
}

const words = (command: string) =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')

const ACCOUNTS = documentedBlock('docs/see-and-revoke-access.md', 'account list')

t.test('see-and-revoke-access.md shows the list of the development accounts', async (t) => {
  const [command = '', ...shown] = ACCOUNTS.trim().split('\n')
  const terminal = aTerminal()
  await main(words(command.replace('/var/lib/scopegate', server.dataDir)).slice(2), terminal)
  const linesOf = (text: string) =>
    text
      .trim()
      .replaceAll(/\d{4}-\S+Z/g, 'TIME')
      .split('\n')
      .toSorted()
  t.same(linesOf(terminal.said.out), linesOf(shown.join('\n')))
})

for (const [page, ...blocks] of [
  ['see-and-revoke-access.md', ACCOUNTS],
  [
    'run-with-local-accounts.md',
    documentedBlock('docs/run-with-local-accounts.md', 'account invite dana'),
    documentedBlock('docs/run-with-local-accounts.md', 'account reset-password'),
  ],
  [
    'run-without-local-accounts.md',
    documentedBlock('docs/run-without-local-accounts.md', 'account list --data /var/lib/scopegate --json'),
    documentedBlock('docs/run-without-local-accounts.md', 'account remove'),
    documentedBlock(
      'docs/run-without-local-accounts.md',
      'sh\nscopegate account list --data /var/lib/scopegate\n',
    ),
    documentedBlock('docs/run-without-local-accounts.md', 'account invite'),
    documentedBlock('docs/run-without-local-accounts.md', 'account add'),
  ],
] as const)
  t.test(`the commands of ${page} work on a running server`, async (t) => {
    const run = async (command: string) => {
      const terminal = aTerminal({ typed: PASSWORD, env: { SCOPEGATE_DATA_DIR: server.dataDir } })
      const code = await main(words(command), terminal)
      for (const [, token] of terminal.said.out.matchAll(/token=(\S+)/g)) recordCredential(token ?? '')
      return { code, ...terminal.said }
    }
    const commands = commandsOf(page, blocks).filter((command) =>
      /^(account|client|grant|session) /.test(command),
    )
    t.ok(commands.length > 3, `${commands.length} commands`)
    // The commands for passwords reject the development account alice.
    await run('account remove alice')
    for (const shown of commands) {
      // Earlier commands can have removed or disabled the account.
      for (const name of ['alice', 'dana']) {
        if (!shown.includes(name) && !/CLIENT|GRANT/.test(shown)) continue
        if (shown.startsWith('account invite')) await run(`account remove ${name}`)
        else if ((await run(`account enable ${name}`)).code !== 0) await run(`account add ${name}`)
      }
      let ids = { CLIENT: '', GRANT: '' }
      if (/CLIENT|GRANT/.test(shown)) {
        const client = await registerClient(server)
        const person = { username: 'alice', password: PASSWORD }
        await client.obtainTokens({ browser: openBrowser(server.baseUrl), scope: 'openid', person })
        const { grants } = JSON.parse((await run(`grant list --json --client ${client.clientId}`)).out)
        ids = { CLIENT: client.clientId, GRANT: grants[0].grant }
      }
      const command = shown
        .replace('/var/lib/scopegate', server.dataDir)
        .replace(/\b(CLIENT|GRANT)\b/g, (name) => ids[name as keyof typeof ids])
        .replace(/\bNAME\b/, 'bob')
      const { code, err } = await run(command)
      t.ok(code === 0 || err.includes('has no second factor'), `${command}\n${err}`)
    }
  })

t.test('the commands for signing keys in rotate-keys-and-secrets.md work', async (t) => {
  const folder = t.testdir({})
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify(await makeSigningKeys()))
  const blocks = [
    documentedBlock('docs/rotate-keys-and-secrets.md', 'scopegate keys rotate --in 10m'),
    documentedBlock('docs/rotate-keys-and-secrets.md', 'scopegate keys list'),
    documentedBlock('docs/rotate-keys-and-secrets.md', 'scopegate keys retire'),
    documentedBlock('docs/rotate-keys-and-secrets.md', 'scopegate keys rotate --file'),
  ]
  for (const shown of commandsOf('rotate-keys-and-secrets.md', blocks)) {
    if (/KID|^keys (retire|rotate)$/.test(shown)) continue
    const terminal = aTerminal({ folder, env: { SCOPEGATE_DATA_DIR: server.dataDir } })
    const code = await main(words(shown.replaceAll(/http:\/\/10\.0\.0\.\d:8081/g, server.baseUrl)), terminal)
    // Exit code 1 means that nothing changed: the new keys do not sign yet, or the old keys must stay.
    t.ok(code === 0 || code === 1, `${shown}: ${code}`)
  }
})

t.test('the commands for secret files in rotate-keys-and-secrets.md change one secret each', async (t) => {
  const block = documentedBlock('docs/rotate-keys-and-secrets.md', 'FILE=')
  const [setup = '', ...steps] = block.split(/^# .*\n/m)
  t.equal(steps.length, 4)
  const folder = t.testdir({ 'gateway-client-secret': 'first-without-a-line-break' })
  const secretsAfter = (step: string) => {
    execFileSync('bash', ['-euc', setup + step], { cwd: folder })
    const secrets = parseSecretLines(readFileSync(join(folder, 'gateway-client-secret'), 'utf8'), 'file')
    for (const secret of secrets) recordCredential(secret)
    return secrets
  }
  const [prepend = '', append = '', exchange = '', remove = ''] = steps
  const [newest, first] = secretsAfter(prepend)
  t.equal(first, 'first-without-a-line-break')
  t.same(secretsAfter(remove), [newest])
  const appended = secretsAfter(append)
  t.same([appended.length, appended[0]], [2, newest])
  t.same(secretsAfter(exchange), appended.toReversed())
  t.same(secretsAfter(remove), [appended[1]])
})

t.test('the commands for assertion keys in rotate-keys-and-secrets.md keep a key in the file', async (t) => {
  const folder = t.testdir({})
  const keysAfter = (step: string) => {
    execFileSync('bash', ['-euc', step], { cwd: folder, stdio: 'ignore' })
    const keys =
      readFileSync(join(folder, 'assertion.pem'), 'utf8').match(/-----BEGIN[\s\S]*?-----END/g) ?? []
    for (const key of keys) recordCredential(key)
    return keys
  }
  execFileSync(
    'openssl',
    'genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out assertion.pem'.split(' '),
    {
      cwd: folder,
      stdio: 'ignore',
    },
  )
  const [old] = keysAfter('true')
  const [, added] = keysAfter(documentedBlock('docs/rotate-keys-and-secrets.md', 'openssl genpkey'))
  t.same(keysAfter(documentedBlock('docs/rotate-keys-and-secrets.md', 'openssl pkey')), [added, old])
  t.same(keysAfter(documentedBlock('docs/rotate-keys-and-secrets.md', 'rm old.pem')), [added])
})

t.test('the server accepts the configurations of the guides for providers', async (t) => {
  const shipped = parse(readFileSync(join(ROOT, 'config', 'authorization-server.yaml'), 'utf8'))
  for (const block of [
    documentedBlock('docs/sign-in-with-a-provider.md', 'title: Example #'),
    documentedBlock('docs/sign-in-with-a-provider.md', '- name: keycloak'),
    documentedBlock('docs/sign-in-with-a-provider.md', '- name: entra'),
    documentedBlock('docs/sign-in-with-a-provider.md', '- name: okta'),
    documentedBlock('docs/sign-in-with-a-provider.md', '- name: google'),
    documentedBlock('docs/run-without-local-accounts.md', 'development: false'),
  ]) {
    const settings = parse(block)
    readConfig(t, {
      ...shipped,
      ...(Array.isArray(settings) ? { signIn: { providers: settings } } : settings),
    })
  }
})

function readConfig(t: Test, settings: object): void {
  const configDir = t.testdir({ 'authorization-server.yaml': stringify(settings) })
  copyFileSync(join(ROOT, 'config', 'scopes.yaml'), join(configDir, 'scopes.yaml'))
  t.ok(readAuthorizationServerConfig({ configDir, env: {} }))
}
