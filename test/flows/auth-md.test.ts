import t from 'tap'
import { openBrowser } from '../fixtures/open-browser.ts'
import { send } from '../fixtures/send.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// Runs the commands of the served `auth.md` in one shell, so that the document stays correct.
const scopegate = await startScopegate(t)
const { baseUrl } = scopegate
const walkthrough = (await send(`${baseUrl}/auth.md`)).text
const blocks = [...walkthrough.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]

t.test('auth.md is short and its code blocks contain only commands', async (t) => {
  t.ok(walkthrough.split('\n').length < 200)
  t.same([...new Set(blocks.map(([, language]) => language))], ['sh'])
  t.notMatch(walkthrough, /undefined|\[object|\$\{/)
})

t.test('the commands of auth.md complete the flow from discovery to revocation', async (t) => {
  const shell = openShell()
  t.teardown(() => shell.end())
  const said: string[] = []
  for (const [, , commands = ''] of blocks) {
    const output = await shell.run(commands)
    said.push(output)
    const address = /http:\S+\/oauth\/authorize\?\S+/.exec(output)?.[0]
    if (address === undefined) continue
    const redirect = await signIn(openBrowser(baseUrl), address)
    t.equal(
      redirect.searchParams.get('state'),
      await shell.run('echo "$STATE"'),
      'state equals the value from the shell',
    )
    t.equal(redirect.searchParams.get('iss'), baseUrl)
    const code = redirect.searchParams.get('code') ?? ''
    scopegate.secret(code)
    await shell.run(`CODE='${code}'`)
  }
  const all = said.join('\n')
  t.match(all, '"authorization_servers"', 'discovery answered')
  t.match(all, '"token_endpoint"')
  t.notMatch(all, /"error"/, 'no command failed')

  const [accessToken = '', refreshToken = '', clientId = ''] = (
    await shell.run('printf "%s\\n" "$ACCESS_TOKEN" "$REFRESH_TOKEN" "$CLIENT_ID"')
  ).split('\n')
  for (const token of [accessToken, refreshToken]) scopegate.secret(token)
  t.match(accessToken, /^[\w-]{22,}$/, 'the shell received an access token')
  t.match(refreshToken, /^[\w-]{22,}$/, 'and a refresh token')
  t.match(clientId, /^[\w-]{16,}$/)
  await until('the last command revoked the token', async () => {
    const { status } = await send(`${baseUrl}/api/account`, { token: accessToken })
    return status === 401
  })
})

t.test('every URL and error code in auth.md exists', async (t) => {
  const addresses = new Set(walkthrough.match(/http:\/\/127\.0\.0\.1:\d+\/[\w./-]+\w/g))
  for (const address of addresses) {
    if (!address.startsWith(`${baseUrl}/`)) continue
    t.not((await send(address)).status, 404, address)
  }
})

/**
 * A bash process that stays open between commands, so that variables persist. The process exits when a command fails.
 */
function openShell() {
  const bash = spawnPlainly('bash', ['-eu', '-o', 'pipefail'])
  const END = '-- end of command --'
  let output = ''
  let errors = ''
  bash.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  bash.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const run = async (commands: string): Promise<string> => {
    output = ''
    bash.stdin.write(`${commands}\nprintf '\\n%s\\n' '${END}'\n`)
    await until(`the shell responds:\n${commands}`, async () => {
      if (bash.exitCode !== null)
        throw new Error(`the shell ended with ${bash.exitCode}: ${errors}\n${commands}`)
      return output.includes(END)
    })
    if (errors !== '') throw new Error(`the shell complained: ${errors}\n${commands}`)
    return output.slice(0, output.indexOf(END)).trim()
  }
  return { run, end: () => void bash.stdin.end() }
}
