import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type DecisionProtocol, startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { quietPort } from '../../fixtures/quiet-port.ts'
import { OK_REPLY, startRecordingUpstream } from '../../fixtures/recording-upstream.ts'
import { documentedBlock } from '../../fixtures/repository-texts.ts'
import { send } from '../../fixtures/send.ts'
import { testEnforcement } from '../../fixtures/test-enforcement.ts'
import { testFrameworks } from '../../fixtures/test-frameworks.ts'
import { until } from '../../fixtures/until.ts'

/**
 * A product that asks the decision endpoint. Its example is the folder of `examples/decision-mode` with the first word of
 * `name`.
 */
export type Ingress = {
  readonly name: string
  readonly protocol: DecisionProtocol
  /** The example removes each header of the client with a reserved prefix. Otherwise, it has a list of names. */
  readonly hasHeaderPatterns: boolean
  /** The product sends the trailers of the client to the upstream. */
  readonly forwardsTrailers?: boolean
  /** Status of the response if Scopegate has not sent the decision 200. undefined: the product cannot detect this. */
  readonly foreignStatus?: number
  /** Status of the response if Scopegate does not respond. undefined: not tested. */
  readonly silentStatus?: number
  /**
   * Changes a file of the example only where the test needs other folders.
   * @param dir an empty folder for the files of the process.
   */
  readonly adapt?: (text: string, dir: string) => string
  /** Returns the command that starts the product in the foreground, in the folder with the files of the example. */
  readonly command: (dir: string) => readonly [command: string, ...args: string[]]
}

/** An example that runs in a process of its own. */
export type Example = Pick<Ingress, 'name' | 'adapt' | 'command'> & {
  readonly folder: string
  /** Status of the response to an allowed request. Default: 200. */
  readonly readyStatus?: number
}

/** The addresses that replace the addresses of the example. */
type Addresses = { readonly upstream: string; readonly decisions?: string; readonly gateway?: string }

export const EXAMPLES = resolve(import.meta.dirname, '../../../examples/decision-mode')
const run = promisify(execFile)
/** Replaces an address that the test does not use. */
const UNUSED = 'http://127.0.0.1:1'

/** Starts the example of the product, and tests the flows and all spellings of the path tests through the product. */
export function testIngress(ingress: Ingress): void {
  const folder = join(EXAMPLES, ingress.name.toLowerCase().replace(/ .*/, ''))
  testEnforcement({
    ...ingress,
    async start(t, options) {
      const strict = options?.upstream
      const { decisions, gateway, upstream, issuer } = await startDecisionEndpoint(t, ingress.protocol, {
        policy: options?.policy,
        upstreamUrl: strict?.url,
      })
      const requests = strict ?? upstream
      const to = { decisions, gateway: gateway.url, upstream: requests.url }
      const url = await startExample(t, { ...ingress, folder }, to)
      return { url, gateway, issuer, upstream: { requests: requests.requests, seen: upstream.seen } }
    },
  })
  testCommands({ ...ingress, folder })
  if (ingress.silentStatus !== undefined)
    testSilence({ ...ingress, folder, readyStatus: ingress.silentStatus })
  if (ingress.protocol === 'forward-auth') testWrongAddress({ ...ingress, folder })
  testFrameworks(ingress.name, async (t, options) => {
    const { decisions, gateway, issuer } = await startDecisionEndpoint(t, ingress.protocol, options)
    const to = { decisions, gateway: gateway.url, upstream: options.upstreamUrl }
    return { url: await startExample(t, { ...ingress, folder }, to), issuer }
  })
}

/** Runs the commands of the page that check an ingress. */
function testCommands(example: Ingress & Example): void {
  const block = documentedBlock('docs/decide-for-another-gateway.md', 'curl -i')
  const commands = [...block.matchAll(/^curl (.*?) +# (\d{3})$/gm)].map(([, command = '', status]) => ({
    status,
    args: [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain),
  }))
  t.test(`the commands of the page check ${example.name}`, async (t) => {
    const policy = `apiVersion: scopegate/v1
kind: Policy
name: demo
upstream: api
routes:
  - { name: analytics, match: { methods: [GET], path: /api/analytics }, anonymous: allow }
  - { name: orders, match: { methods: [GET], path: /api/orders }, anonymous: allow }
  - { name: ready, match: { methods: [GET], path: /pub/ready }, anonymous: allow }
`
    const { decisions, gateway, upstream } = await startDecisionEndpoint(t, example.protocol, { policy })
    const url = await startExample(t, example, { decisions, gateway: gateway.url, upstream: upstream.url })
    const curl = async (args: readonly string[]): Promise<string> => {
      const replaced = args.map((one) => one.replace('http://127.0.0.1:8080', url))
      return (await run('curl', [...replaced, '-s', '-o', '/dev/null', '-w', '%{http_code}'])).stdout
    }
    t.equal(commands.length, 8)
    for (const { args, status } of commands) t.equal(await curl(args), status, args.join(' '))
    await gateway.close()
    t.match(await curl(commands[0]?.args ?? []), /^5/, 'without Scopegate')
    t.equal(upstream.requests.filter(({ target }) => target === '/api/analytics').length, 1)
  })
}

/** Tests that the product does not wait long for a decision. */
function testSilence(example: Example): void {
  t.test(`${example.name} denies a request if Scopegate accepts it and does not respond`, async (t) => {
    const decisions = await startRecordingUpstream()
    const upstream = await startRecordingUpstream()
    t.teardown(() => Promise.all([decisions.close(), upstream.close()]))
    decisions.reply(() => undefined)
    await startExample(t, example, { decisions: decisions.url, upstream: upstream.url })
    t.ok(decisions.requests.length > 0)
    t.equal(upstream.requests.length, 0)
  })
}

/** Tests that the product denies each request if the address of the decision endpoint is wrong. */
function testWrongAddress(example: Ingress & Example): void {
  t.test(`${example.name} denies each request if another server responds to it`, async (t) => {
    const { gateway, upstream } = await startDecisionEndpoint(t, example.protocol)
    const ask = async (decisions: string, readyStatus: number) => {
      const url = await startExample(t, { ...example, readyStatus }, { decisions, upstream: upstream.url })
      const forged = { 'x-scopegate-decision': 'allow', 'x-auth-subject': 'root' }
      const { status } = await send(`${url}/api/denied`, { headers: forged })
      return { status, host: new URL(url).host }
    }
    t.match(await ask(gateway.url, 404), { status: 404 }, 'the public port of the gateway')
    t.equal(upstream.requests.length, 0)
    if (example.foreignStatus === undefined) return
    const other = await startRecordingUpstream()
    t.teardown(() => other.close())
    other.reply(OK_REPLY.replace('\r\n', '\r\nx-request-id: one\r\n'))
    const { status, host } = await ask(other.url, example.foreignStatus)
    t.equal(status, example.foreignStatus, 'a 200 without a decision')
    t.equal(upstream.requests.length, 0)
    t.equal(
      other.seen('host').at(-1),
      host,
      'Scopegate gets the Host of the client, and rejects an invalid one',
    )
  })
}

/** Starts the example on a free port. Returns its URL. */
export async function startExample(t: Test, example: Example, addresses: Addresses): Promise<string> {
  const to = { decisions: UNUSED, gateway: UNUSED, ...addresses }
  const port = await quietPort()
  const url = `http://127.0.0.1:${port}`
  // A product that is started by root changes its user, which cannot read a repository below the home folder of root.
  const dir = mkdtempSync(join(tmpdir(), 'scopegate-ingress-'))
  chmodSync(dir, 0o755)
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const files = join(dir, 'example')
  mkdirSync(files)
  for (const entry of readdirSync(example.folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const original = readFileSync(join(example.folder, entry.name), 'utf8')
    const text = (example.adapt?.(original, dir) ?? original)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replaceAll(':8080', `:${port}`)
      .replaceAll('127.0.0.1:4010', new URL(to.decisions).host)
      .replaceAll('127.0.0.1:4000', new URL(to.gateway).host)
      .replaceAll('127.0.0.1:5000', new URL(to.upstream).host)
      .replaceAll('port: 8080', `port: ${port}`)
      .replaceAll('port_value: 8080', `port_value: ${port}`)
      .replaceAll('port_value: 4010', `port_value: ${new URL(to.decisions).port}`)
      .replaceAll('port_value: 4000', `port_value: ${new URL(to.gateway).port}`)
      .replaceAll('port_value: 5000', `port_value: ${new URL(to.upstream).port}`)
    writeFileSync(join(files, entry.name), text)
  }
  const [command, ...args] = example.command(dir)
  const child = spawn(command, args, {
    cwd: files,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: dir },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  t.teardown(async () => {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await until(`${example.name} listens`, async () => {
    if (child.exitCode !== null) throw new Error(`${example.name} ended: ${output}`)
    return (await send(`${url}/pub/ready`).catch(() => undefined))?.status === (example.readyStatus ?? 200)
  })
  return url
}
