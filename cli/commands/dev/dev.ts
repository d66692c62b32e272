import { randomBytes } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readGatewayFile } from '../../../gateway/config/read-gateway-file.ts'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { collectProblems } from '../../../platform/diagnostics/collect-problems.ts'
import { makeFolder } from '../../../platform/process/make-folder.ts'
import type { ParsedArguments } from '../../command.ts'
import { DEVELOPMENT_DATA_FOLDER, findFolders, noteShippedConfig } from '../../find-folders.ts'
import { openPolicySet } from '../../open-policy-set.ts'
import { stopRequest } from '../../stop-request.ts'
import type { Terminal } from '../../terminal.ts'
import { formatBanner } from './banner.ts'
import { isPortFree } from './choose-port.ts'
import { findForeignVariables } from './foreign-variables.ts'
import { formatLogLine } from './format-log-line.ts'
import { createHints, type HintOf } from './hints.ts'
import { startAll } from './start-all.ts'
import { type Child, startChild } from './start-child.ts'

const DEFAULT_PORT = 8080

/**
 * Runs the gateway, the authorization server and the demo API on this machine, each in its own process. Runs until
 * Ctrl-C, or until the reader of the output has exited. Keeps clients, grants and the demo's data in `<data>` between
 * starts.
 * @returns the exit code: 0 after a request to stop, 1 when one of the programs exits by itself.
 */
export async function dev(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const startedAtMs = performance.now()
  const folders = findFolders(given, terminal)
  noteShippedConfig(folders, terminal)
  const { configDir, policiesDir: givenDir } = folders
  const policiesDir =
    givenDir ?? (hasPolicySources(configDir) ? undefined : join(configDir, '..', 'policies'))
  const dataDir = resolve(given.text('data') ?? DEVELOPMENT_DATA_FOLDER)
  const secretFile = prepareDataFolder(dataDir)
  const port = readPort(process.env['PORT'])
  if (!(await isPortFree(port))) throw portTaken(port)
  const baseUrl = `http://127.0.0.1:${port}`
  const foreign = findForeignVariables({ configDir, env: process.env })
  const hint = createHints(baseUrl)
  const children: Child[] = []
  let stopping = false
  const start = (name: string, module: string, env: Record<string, string>): Child => {
    // During shutdown, the programs report lost connections to each other, which are expected.
    const onLine = (line: string): void => {
      if (!stopping) show(name, line, hint)
    }
    const settings = {
      SCOPEGATE_CONFIG_DIR: configDir,
      NODE_ENV: 'development',
      SCOPEGATE_LOG__FORMAT: 'default', // `formatLogLine()` reads this format
      ...env,
    }
    const without = name === 'gateway' ? foreign.gateway : foreign.authorizationServer
    const child = startChild({ name, module, env: settings, without, onLine })
    children.push(child)
    return child
  }
  const interrupted = Promise.race([
    stopRequest(process.env),
    terminal.readerGone.then(() => 'stop' as const),
  ])

  try {
    say(`starting the authorization server, the demo API and the gateway; data in ${dataDir}`)
    const started = await Promise.race([
      startAll({ start, port, baseUrl, dataDir, policiesDir, secretFile }),
      interrupted,
    ])
    if (started !== 'stop') {
      const { routes } = (await openPolicySet({ configDir, policiesDir, env: terminal.env })).policies
      process.stdout.write(formatBanner({ baseUrl, routes, startedAtMs, ...started }))
      const ended = Promise.race(
        children.map(async (child) => ({ name: child.name, code: await child.ended })),
      )
      const outcome = await Promise.race([ended, interrupted])
      if (outcome !== 'stop') {
        say(
          `${outcome.name} ended unexpectedly (exit code ${outcome.code ?? 'unknown'}); stopping the others`,
        )
        return 1
      }
    }
    say('stopping …')
    return 0
  } finally {
    stopping = true
    for (const child of children) child.stop()
    await Promise.all(children.map((child) => child.ended))
  }
}

function portTaken(port: number): BootError {
  return new BootError(
    'ERR_PORT_TAKEN',
    `scopegate dev: cannot listen on 127.0.0.1:${port}: another program listens there, or the system forbids this port. Choose another port: PORT=${port < 1024 ? 8090 : port + 10} npm start`,
  )
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw new BootError(
    'ERR_PORT_INVALID',
    `scopegate dev: PORT must be a number from 1 to 65535 (got "${text}").`,
    {
      exitCode: 2,
    },
  )
}

/**
 * Creates the data folder with access for this user only. Creates the client secret with which the gateway introspects
 * tokens, unless the file exists.
 * @returns the path of the file with the client secret.
 */
function prepareDataFolder(dataDir: string): string {
  const secretFile = join(dataDir, 'gateway-client-secret')
  try {
    makeFolder(dataDir)
    if (!existsSync(secretFile))
      writeFileSync(secretFile, randomBytes(32).toString('base64url'), { mode: 0o600 })
    return secretFile
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BootError(
      'ERR_DATA_FOLDER',
      `scopegate dev: cannot write to the data folder ${dataDir} (${reason}). Make the folder writable, or choose another folder: scopegate dev --data DIR`,
      { cause },
    )
  }
}

function show(name: string, line: string, hint: HintOf): void {
  const text = formatLogLine(name, line, hint)
  if (text !== undefined) process.stdout.write(`${text}\n`)
}

function say(text: string): void {
  process.stdout.write(`scopegate: ${text}\n`)
}

/**
 * Returns whether the configuration has policy sources. Returns false for an invalid configuration, because the gateway
 * reports the problems of the configuration.
 */
function hasPolicySources(configDir: string): boolean {
  const read = collectProblems().attempt(() => readGatewayFile({ configDir, env: process.env }))
  return read?.value.policySources !== undefined
}
