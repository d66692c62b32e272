import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { type RecordedLine, renderAsciicast, toAsciicast } from '../../scripts/render-recording.ts'
import { recordCredential } from '../fixtures/capture.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'
import { openBrowser } from '../fixtures/open-browser.ts'
import { documentedBlock, readRepositoryFile } from '../fixtures/repository-texts.ts'
import { send } from '../fixtures/send.ts'
import { shrinkPng } from '../fixtures/shrink-png.ts'
import { signIn } from '../fixtures/sign-in.ts'
import { plainEnvironment, spawnPlainly } from '../fixtures/spawn-plainly.ts'
import { type Scopegate, startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'

// Runs the commands of README.md in the order of the page, against the services of `npm start`.
const ROOT = findPackageRoot()
const PAGE_URL = 'http://127.0.0.1:8080'
const RECORDING = 'docs/images/first-requests'
const DENIAL_PICTURE = join(ROOT, 'docs/images/console-denial-light.png')
const MAX_IMAGE_BYTES = 100_000
/** The commands of the recording, which are also on the page or which need nothing else. */
const RECORDED = [
  `curl ${PAGE_URL}/api/analytics`,
  `curl -si -X POST ${PAGE_URL}/api/courses | grep -iE '^(HTTP|www-auth)'`,
  `curl -s -o /dev/null -w '%{http_code}\\n' ${PAGE_URL}/api/courses -H "Authorization: Bearer $TOKEN"`,
  `curl -si -X POST ${PAGE_URL}/api/courses -H "Authorization: Bearer $TOKEN" | grep -iE '^(HTTP|www-auth)'`,
  'npx scopegate explain POST /api/courses --scope courses:read | head -n 6',
]
/** A reader needs this time for a command, and for a line of its output. */
const COMMAND_MS = 1_000
const LINE_MS = 150

/** The root test of this file. Each nested test has its own test folder. */
const file = t
const GET_TOKEN = documentedBlock('README.md', 'npm run --silent get-token')

t.test('the commands of README.md print the shown output', async (t) => {
  const folder = t.testdir({ bin: {} })
  const scopegate = await startScopegate(file)
  const { token, shown } = await getToken(scopegate)
  t.ok(GET_TOKEN.includes(shown), 'the page shows the text of the client')
  const run = createShell(folder, scopegate, token)

  for (const block of [
    documentedBlock('README.md', '$ curl http'),
    documentedBlock('README.md', '$ curl -i -X POST'),
    documentedBlock('README.md', '$ curl -i http'),
  ]) {
    const output = run(commandsOf(block))
    t.ok(isShown(block, output), block, { output })
  }
  const status = /^\$ (curl -s -o [^\n]*)\n(\d+)$/m.exec(GET_TOKEN)
  t.equal(run(status?.[1] ?? '').trim(), status?.[2])
  const summary = documentedBlock('README.md', 'Scopegate is ready')
  await until('npm start prints its summary', async () => isShown(summary, scopegate.output()))
  t.ok(isShown(summary, scopegate.output()), summary, { output: scopegate.output() })

  t.test('the recording shows the output of its commands', async (t) => {
    const lines = record(RECORDED, run)
    const cast = toAsciicast(lines, 'First requests to Scopegate')
    if (process.env['DOCS_IMAGES'] !== undefined) {
      writeFileSync(join(ROOT, `${RECORDING}.cast`), cast)
      writeFileSync(join(ROOT, `${RECORDING}.svg`), renderAsciicast(cast))
    }
    t.ok(existsSync(join(ROOT, `${RECORDING}.cast`)), 'npm run docs:images writes the recording')
    t.equal(readRepositoryFile(`${RECORDING}.cast`), cast)
    t.equal(readRepositoryFile(`${RECORDING}.svg`), renderAsciicast(cast))
  })

  t.test('the console shows the rule that denied a request', async (t) => {
    const denied = await send(`${scopegate.baseUrl}/api/courses`, { method: 'POST', token })
    const chromium = await launchChromium(t)
    const page = await (await chromium.newContext({ viewport: { width: 1000, height: 400 } })).newPage()
    await page.goto(scopegate.managementUrl)
    await page.getByRole('searchbox', { name: 'Request ID' }).fill(String(denied.json['request_id']))
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('heading', { name: 'deny: scope_missing' }).waitFor()
    const text = await page.getByRole('main').textContent()
    const line =
      readRepositoryFile('policies/courses.policy.yaml').split('\n').indexOf('  - name: create-course') + 1
    t.match(text, `policies/courses.policy.yaml:${line}:`)
    t.match(text, 'Request a token with the scopes courses:write')
    if (process.env['DOCS_IMAGES'] !== undefined)
      writeFileSync(DENIAL_PICTURE, shrinkPng(await page.screenshot({ fullPage: true })))
    t.ok(existsSync(DENIAL_PICTURE) && statSync(DENIAL_PICTURE).size <= MAX_IMAGE_BYTES, 'a small picture')
  })
})

t.test('the page shows the real error message of a wrong scope', async (t) => {
  const folder = t.testdir()
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  cpSync(join(ROOT, 'policies'), join(folder, 'policies'), { recursive: true })
  const policy = documentedBlock('README.md', 'kind: Policy').replace('curriculum:read', 'curriculm:read')
  writeFileSync(join(folder, 'policies/lecture-notes.policy.yaml'), policy)
  const { stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin/scopegate.js'), 'check'], {
    cwd: folder,
    encoding: 'utf8',
    env: plainEnvironment(),
  })
  t.ok((stdout + stderr).includes(documentedBlock('README.md', 'error[P201]').trimEnd()), stdout + stderr)
})

function commandsOf(block: string): string {
  return block
    .split('\n')
    .filter((line) => line.startsWith('$ '))
    .map((line) => line.slice(2))
    .join('\n')
}

/**
 * Returns whether each shown line is the start of a printed line. Ignores the text after an ellipsis, request IDs, and
 * the values that differ between two starts.
 */
function isShown(block: string, output: string): boolean {
  const printed = output.split(/\r?\n/).map(normalize)
  return block
    .split('\n')
    .filter((line) => !line.startsWith('$ ') && line.trim() !== '')
    .every((line) => {
      const [start = ''] = normalize(line).split('…')
      return printed.some((one) => one.startsWith(start.trimEnd()))
    })
}

function normalize(line: string): string {
  return line
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replaceAll(/after [\d.]+ s$/g, 'after TIME')
}

/** Returns a function that runs commands in a shell, and returns their output with the addresses of the page. */
function createShell(
  folder: string,
  { baseUrl, port }: Scopegate,
  token: string,
): (commands: string) => string {
  const npx = `#!/bin/sh\nshift\ncd "${ROOT}" && exec "${process.execPath}" bin/scopegate.js "$@"\n`
  writeFileSync(join(folder, 'bin/npx'), npx, { mode: 0o755 })
  const env = {
    ...plainEnvironment(),
    PORT: String(port),
    TOKEN: token,
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
  }
  return (commands) => {
    const { stdout } = spawnSync('sh', ['-c', commands.replaceAll(PAGE_URL, baseUrl)], {
      cwd: folder,
      encoding: 'utf8',
      env,
    })
    return stdout.replaceAll(baseUrl, PAGE_URL)
  }
}

/** Runs the client of the page. Signs in and allows access as the page describes. */
async function getToken({
  baseUrl,
  secret,
}: Scopegate): Promise<{ readonly token: string; readonly shown: string }> {
  const client = spawnPlainly(
    process.execPath,
    [join(ROOT, 'examples/clients/get-token.ts'), '--scope', 'openid courses:read'],
    { env: { PORT: new URL(baseUrl).port } },
  )
  let printed = ''
  let said = ''
  client.stdout.on('data', (chunk) => (printed += chunk))
  client.stderr.on('data', (chunk) => (said += chunk))
  const ended = new Promise((resolve) => client.on('close', resolve))
  const address = await until(
    'the client prints an address',
    async () => /\bhttp\S+\/authorize\S+/.exec(said)?.[0],
  )
  await fetch(await signIn(openBrowser(baseUrl), address))
  await ended
  const { access_token: token } = JSON.parse(printed) as { readonly access_token: string }
  recordCredential(token)
  secret(token)
  return { token, shown: said.split('\n')[0] ?? said }
}

function record(commands: readonly string[], run: (command: string) => string): readonly RecordedLine[] {
  const lines: RecordedLine[] = []
  let atMs = 0
  for (const command of commands) {
    lines.push({ atMs, text: `$ ${command}` })
    atMs += COMMAND_MS
    for (const text of run(command).replaceAll('\r', '').trimEnd().split('\n')) {
      lines.push({ atMs, text })
      atMs += LINE_MS
    }
    lines.push({ atMs, text: '' })
    atMs += COMMAND_MS
  }
  return lines
}
