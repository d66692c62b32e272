// npm run clients [-- NAME ...]: outside OAuth and MCP clients, each through its complete flow against the started
// product. The gateway's decisions show the steps of each client. docs/clients.md lists the settings of each client.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createCleanup } from '../../bench/cleanup.ts'
import { startMcpServer } from '../../examples/mcp-server/app.ts'
import { quietPort } from '../fixtures/quiet-port.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { type Scopegate, startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'
import { CLIENTS, type OutsideClient, SERVERS } from './clients.ts'
import { type InstalledClients, installClients, npmVersion, pythonVersion } from './install-clients.ts'
import { observeSteps } from './observe-steps.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLIENT_SECRET = randomBytes(32).toString('base64url')
const CLIENT_LIMIT_MS = 120_000

let marks = 0
const cleanup = createCleanup()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => cleanup.run().finally(() => process.exit(1)))
try {
  const failed = await runClients(selectClients(process.argv.slice(2)))
  process.exitCode = failed === 0 ? 0 : 1
} catch (error) {
  console.error(`clients: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
} finally {
  await cleanup.run()
}

/** Without words, selects all clients. Otherwise, selects the clients whose name contains a word. */
function selectClients(words: readonly string[]): readonly OutsideClient[] {
  const selected = CLIENTS.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word.toLowerCase())),
  )
  if (selected.length === 0)
    throw new Error(`no client matches. The clients are: ${CLIENTS.map(({ name }) => name).join('; ')}.`)
  return selected
}

async function runClients(clients: readonly OutsideClient[]): Promise<number> {
  const installed = installClients()
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-clients-'))
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  const browser = writeBrowser(folder)
  const secretFile = join(folder, 'client-secret')
  writeFileSync(secretFile, CLIENT_SECRET, { mode: 0o600 })
  let failed = 0
  for (const client of clients) if ('tests' in client && !(await runTests(client))) failed += 1
  for (const settings of Object.keys(SERVERS) as (keyof typeof SERVERS)[]) {
    const ofServer = clients
      .filter((client) => 'program' in client)
      .filter(({ server }) => server === settings)
    if (ofServer.length === 0) continue
    console.log(`starting Scopegate with ${settings} …`)
    const scopegate = await start(settings, secretFile)
    for (const client of ofServer)
      if (!(await runClient(client, { scopegate, installed, browser, folder }))) failed += 1
    await scopegate.stop()
  }
  console.log(`${clients.length - failed} clients passed, ${failed} failed`)
  return failed
}

async function start(settings: keyof typeof SERVERS, secretFile: string): Promise<Scopegate> {
  const platformPort = await quietPort()
  const mcpServer = await startMcpServer({
    host: '127.0.0.1',
    port: 0,
    platformUrl: new URL(`http://127.0.0.1:${platformPort}`),
    legacy: 'stateless',
  })
  cleanup.add(() => mcpServer.close())
  const dataDir = mkdtempSync(join(tmpdir(), 'scopegate-clients-data-'))
  cleanup.add(() => rmSync(dataDir, { recursive: true, force: true }))
  return startScopegate(
    { testdir: () => dataDir, teardown: (end: () => unknown) => cleanup.add(async () => void (await end())) },
    {
      args: [
        ...['--config', join(ROOT, 'examples/mcp-server/config')],
        ...['--policies', join(import.meta.dirname, 'policies')],
      ],
      env: {
        LEARNING_PLATFORM_PORT: String(platformPort),
        LEARNING_PLATFORM_GATEWAY_AUDIENCE: 'learning-platform,mcp-server',
        SCOPEGATE_UPSTREAMS__MCP_SERVER__URL: mcpServer.url,
        ...SERVERS[settings](secretFile),
      },
    },
  )
}

/** Returns whether the tests of a client pass. */
async function runTests(client: Extract<OutsideClient, { readonly tests: unknown }>): Promise<boolean> {
  const { code, output } = await runProgram(
    process.execPath,
    [join(ROOT, 'scripts/run-tests.js'), '--jobs=1', ...client.tests],
    plainEnvironment(),
  )
  report(client, client.tests.join(', '), code === 0 ? undefined : `exit code ${code}\n${output}`)
  return code === 0
}

/** Runs the program of a client, and prints the steps. Returns whether the client passes. */
async function runClient(
  client: Extract<OutsideClient, { readonly program: unknown }>,
  at: {
    readonly scopegate: Scopegate
    readonly installed: InstalledClients
    readonly browser: string
    readonly folder: string
  },
): Promise<boolean> {
  const { scopegate, installed, browser } = at
  const home = mkdtempSync(join(at.folder, 'home-'))
  const from = await markLog(scopegate)
  const [file, ...args] = client.program
  const result = await runProgram(
    file.endsWith('.py') ? installed.python : process.execPath,
    [join(installed.folder, file), ...args],
    {
      ...plainEnvironment(),
      BASE_URL: scopegate.baseUrl,
      MCP_URL: `${scopegate.baseUrl}/mcp`,
      API_URL: `${scopegate.baseUrl}/api/courses`,
      EXAMPLE_PROVIDER: pathToFileURL(join(ROOT, 'examples/clients/in-memory-provider.ts')).href,
      BROWSER: browser,
      CLIENT_SECRET,
      HOME: home,
    },
  )
  const to = await markLog(scopegate)
  const decisions = scopegate.output().slice(from, to)
  const observed = observeSteps(decisions)
  const missing = client.steps.filter((step) => !observed.includes(step))
  const logs = `${result.output}\n${decisions}`
  const failure =
    result.code !== 0
      ? `exit code ${result.code}\n${logs}`
      : missing.length > 0
        ? `no ${missing.join(', no ')}\n${logs}`
        : undefined
  report(client, observed.join(', '), failure)
  return failure === undefined
}

/**
 * Sends a request with an unknown path, and waits until the gateway logs the request. The gateway has then logged all
 * earlier requests.
 * @returns the length of the output.
 */
async function markLog(scopegate: Scopegate): Promise<number> {
  const path = `/mark-${++marks}`
  await fetch(`${scopegate.baseUrl}${path}`)
  await until('the gateway logs a request', async () => scopegate.output().includes(`GET ${path} `))
  return scopegate.output().length
}

function report(client: OutsideClient, steps: string, failure: string | undefined): void {
  console.log(
    `${failure === undefined ? 'passed' : 'FAILED'}  ${client.name} (${versionOf(client)}): ${steps}`,
  )
  if (failure !== undefined) console.log(failure)
}

function versionOf({ package: { of, name } }: OutsideClient): string {
  if (of === 'PyPI') return pythonVersion(name)
  return of === 'npm' ? npmVersion(name) : npmVersion(name, ROOT)
}

/** Runs a program until the end of the program. After the time limit, kills the process group. */
async function runProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let isOpen = true
  const end = (): void => {
    if (child.pid === undefined || !isOpen) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // all processes of the group have ended
    }
  }
  cleanup.add(end)
  const deadline = setTimeout(end, CLIENT_LIMIT_MS)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(deadline)
  end()
  isOpen = false
  return { code, output }
}

/**
 * Writes the program that opens a URL in the browser of the person. The environment variable BROWSER contains the path
 * of the program.
 */
function writeBrowser(folder: string): string {
  const file = join(folder, 'browser')
  mkdirSync(folder, { recursive: true })
  const program = `exec '${process.execPath}' '${join(import.meta.dirname, 'browser.ts')}' "$@"`
  writeFileSync(file, `#!/bin/sh\n${program}\n`, { mode: 0o700 })
  return file
}
