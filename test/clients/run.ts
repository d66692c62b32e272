// npm run clients [-- NAME ...]: outside OAuth and MCP clients, each through its complete flow against the started
// product. The gateway's decisions show the steps of each client.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createCleanup } from '../../bench/cleanup.ts'
import { startMcpServer } from '../../examples/mcp-server/app.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'
import { quietPort, type Scopegate, startScopegate } from '../fixtures/start-scopegate.ts'
import { until } from '../fixtures/until.ts'
import { CLIENTS, type OutsideClient, SERVERS } from './clients.ts'
import { type InstalledClients, installClients, npmVersion, pythonVersion } from './install-clients.ts'
import { observeSteps } from './observe-steps.ts'

const ROOT = join(import.meta.dirname, '../..')
const CLIENT_LIMIT_MS = 120_000
/** Time in which the gateway must log the last step of a client. */
const LOG_LIMIT_MS = 10_000

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
  let failed = 0
  for (const settings of Object.keys(SERVERS) as (keyof typeof SERVERS)[]) {
    const ofServer = clients.filter(({ server }) => server === settings)
    if (ofServer.length === 0) continue
    console.log(`starting Scopegate with ${settings} …`)
    const scopegate = await start(settings)
    for (const client of ofServer) {
      const failure = await runClient(client, { scopegate, installed, browser, folder })
      if (failure !== undefined) failed += 1
    }
    await scopegate.stop()
  }
  console.log(`${clients.length - failed} clients passed, ${failed} failed`)
  return failed
}

async function start(settings: keyof typeof SERVERS): Promise<Scopegate> {
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
        ...SERVERS[settings],
      },
    },
  )
}

/** Runs a client, and prints its steps. Returns the reason if the client fails. */
async function runClient(
  client: OutsideClient,
  at: {
    readonly scopegate: Scopegate
    readonly installed: InstalledClients
    readonly browser: string
    readonly folder: string
  },
): Promise<string | undefined> {
  const { scopegate, installed, browser } = at
  const label = `${client.name} ${versionOf(client)}`
  const home = mkdtempSync(join(at.folder, 'home-'))
  const from = scopegate.output().length
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
      HOME: home,
    },
  )
  const observed = () => observeSteps(scopegate.output().slice(from))
  const missing = () => client.steps.filter((step) => !observed().includes(step))
  if (result.code === 0)
    await until('the gateway logs the steps', async () => missing().length === 0, LOG_LIMIT_MS).catch(
      () => undefined,
    )
  const failure =
    result.code !== 0
      ? `ended with exit code ${result.code}`
      : missing().length > 0
        ? `did not do: ${missing().join(', ')}`
        : undefined
  console.log(`${failure === undefined ? 'passed' : 'FAILED'}  ${label}: ${observed().join(', ')}`)
  if (failure !== undefined)
    console.log(`${label} ${failure}\n${result.output}\n${scopegate.output().slice(from)}`)
  return failure
}

function versionOf({ package: { of, name } }: OutsideClient): string {
  return of === 'npm' ? npmVersion(name) : pythonVersion(name)
}

/** Runs a program until the end of the program. After the time limit, kills the process group. */
async function runProgram(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const end = (): void => {
    if (child.pid === undefined) return
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
