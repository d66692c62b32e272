import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { styleText } from 'node:util'
import { loadPolicies } from '../gateway/routes/load-policies.ts'
import { BootError } from '../runtime/boot-error.ts'
import { findPackageRoot } from '../runtime/package-root.ts'
import { formatLogLine } from './dev/format-log-line.ts'
import { formatRouteTable } from './dev/format-route-table.ts'
import { freePort, tryPort } from './dev/free-port.ts'
import { type Child, startChild } from './dev/start-child.ts'

export type DevOptions = {
  readonly config?: string | undefined
  readonly policies?: string | undefined
  readonly data?: string | undefined
}

const DEFAULT_PORT = 8080

/**
 * Runs the gateway, the authorization server and the demo API on this machine until Ctrl-C, each in a process of its own.
 * Clients, grants and the demo's data are kept in `<data>` between starts.
 * @returns the exit code: 0 when it was told to end, 1 when one of the programs ended by itself.
 */
export async function dev(options: DevOptions): Promise<number> {
  const startedAtMs = performance.now()
  const root = findPackageRoot()
  const configDir = resolve(options.config ?? join(root, 'config'))
  const policiesDir = resolve(options.policies ?? join(root, 'policies'))
  const dataDir = resolve(options.data ?? '.scopegate')
  const secretFile = prepareDataFolder(dataDir)
  const ports = await choosePorts(readPort(process.env['PORT']))
  const baseUrl = `http://127.0.0.1:${ports.gateway}`
  const local = (port: number): string => `http://127.0.0.1:${port}`

  say(`starting the authorization server, the demo API and the gateway; data in ${dataDir}`)
  const environment = { SCOPEGATE_CONFIG_DIR: configDir, NODE_ENV: 'development' }
  const start = (name: string, module: string, env: Record<string, string>): Child =>
    startChild({ name, module, env: { ...environment, ...env }, onLine: (line) => show(name, line) })

  const children = [
    start('authorization server', 'authorization-server/main', {
      PORT: String(ports.authorizationServer),
      SCOPEGATE_ISSUER: baseUrl,
      SCOPEGATE_MANAGEMENT__PORT: String(ports.authorizationServerManagement),
      SCOPEGATE_DATA_DIR: dataDir,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: secretFile,
      SCOPEGATE_DEVELOPMENT: 'true',
    }),
    start('demo API', 'examples/learning-platform/main', {
      LEARNING_PLATFORM_HOST: '127.0.0.1',
      LEARNING_PLATFORM_PORT: String(ports.demo),
      LEARNING_PLATFORM_DATABASE: join(dataDir, 'learning-platform.sqlite'),
    }),
    start('gateway', 'gateway/main', {
      PORT: String(ports.gateway),
      SCOPEGATE_BASE_URL: baseUrl,
      SCOPEGATE_MANAGEMENT__PORT: String(ports.management),
      SCOPEGATE_POLICIES: policiesDir,
      SCOPEGATE_ISSUERS__0__ISSUER: baseUrl,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__ENDPOINT: `${local(ports.authorizationServer)}/api/oauth/introspect`,
      SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: secretFile,
      SCOPEGATE_ISSUERS__0__REVOCATIONS: `${local(ports.authorizationServer)}/internal/revocations`,
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: local(ports.demo),
      SCOPEGATE_UPSTREAMS__AUTHORIZATION_SERVER__URL: local(ports.authorizationServer),
    }),
  ]

  const interrupted = new Promise<'told to end'>((done) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => done('told to end'))
  })
  const ended = Promise.race(children.map(async (child) => ({ name: child.name, code: await child.ended })))
  try {
    const first = await Promise.race([Promise.all(children.map((child) => child.ready)), interrupted])
    if (first !== 'told to end') {
      const { routes } = await loadPolicies({ dir: policiesDir })
      process.stdout.write(banner({ baseUrl, ports, dataDir, routes, startedAtMs }))
      const outcome = await Promise.race([ended, interrupted])
      if (outcome !== 'told to end') {
        say(`${outcome.name} ended by itself (exit code ${outcome.code ?? 'unknown'}); stopping the others`)
        return 1
      }
    }
    say('stopping …')
    return 0
  } finally {
    for (const child of children) child.stop()
    await Promise.all(children.map((child) => child.ended))
  }
}

type Ports = Readonly<
  Record<'gateway' | 'management' | 'authorizationServer' | 'authorizationServerManagement' | 'demo', number>
>

/** Only the gateway's port is an address that others note down; the ones behind it move aside when they are taken. */
async function choosePorts(gateway: number): Promise<Ports> {
  if ((await tryPort(gateway)) === undefined) {
    throw new BootError(
      'ERR_PORT_TAKEN',
      `scopegate dev: another program listens on 127.0.0.1:${gateway} already. End it, or choose another port: PORT=${gateway + 10} npm start`,
    )
  }
  return {
    gateway,
    management: await freePort(9090),
    authorizationServer: await freePort(8081),
    authorizationServerManagement: await freePort(9091),
    demo: await freePort(8082),
  }
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT_PORT
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw new BootError(
    'ERR_PORT_INVALID',
    `scopegate dev: PORT is "${text}"; it takes a number from 1 to 65535.`,
    {
      exitCode: 2,
    },
  )
}

/** Makes the data folder, private to this user, and the secret that the gateway introspects with. */
function prepareDataFolder(dataDir: string): string {
  const secretFile = join(dataDir, 'gateway-client-secret')
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    if (!existsSync(secretFile))
      writeFileSync(secretFile, randomBytes(32).toString('base64url'), { mode: 0o600 })
    return secretFile
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BootError(
      'ERR_DATA_FOLDER',
      `scopegate dev: cannot write to the data folder ${dataDir} (${reason}). Make it writable, or choose another: scopegate dev --data DIR`,
      { cause },
    )
  }
}

function show(name: string, line: string): void {
  const text = formatLogLine(name, line)
  if (text !== undefined) process.stdout.write(`${text}\n`)
}

function say(text: string): void {
  process.stdout.write(`scopegate: ${text}\n`)
}

function banner(options: {
  readonly baseUrl: string
  readonly ports: Ports
  readonly dataDir: string
  readonly routes: Parameters<typeof formatRouteTable>[0]
  readonly startedAtMs: number
}): string {
  const { baseUrl, ports } = options
  const seconds = ((performance.now() - options.startedAtMs) / 1000).toFixed(1)
  const title = (text: string): string => styleText('bold', text)
  return `
${title('Routes')} (scopes that a token needs; a request without a token is served as anonymous unless the policy says otherwise)
${formatRouteTable(options.routes)}

${title('Scopegate is ready')} after ${seconds} s

  gateway               ${styleText('cyan', baseUrl)}
  for agents            ${baseUrl}/auth.md
  API description       ${baseUrl}/openapi.json
  discovery             ${baseUrl}/.well-known/oauth-protected-resource
                        ${baseUrl}/.well-known/oauth-authorization-server
  management            http://127.0.0.1:${ports.management}  (/livez /readyz /metrics)
  authorization server  http://127.0.0.1:${ports.authorizationServer}  (behind the gateway)
  demo API              http://127.0.0.1:${ports.demo}  (behind the gateway)
  data                  ${options.dataDir}
  sign in as            alice / alice   or   bob / bob   (development only)

  try                   ${styleText('cyan', `curl ${baseUrl}/api/courses`)}

${title('Decisions')} as requests come; Ctrl-C ends everything
`
}
