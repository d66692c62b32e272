import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { type SoakGateway, startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'

const CLIENTS = 60
/** Number of free descriptors for connections to the upstream. */
const LEFT = 8
/** Disables automatic policy reloads, because a reload opens files and this test counts every descriptor. */
const SETTINGS = { policyReload: 'manual' }

/** Starts an upstream that holds each response until the test releases it. */
async function startUpstream(t: Test) {
  const waiting: (() => void)[] = []
  let holds = true
  const server = createServer((_request, response) => {
    if (holds) waiting.push(() => response.end('ok'))
    else response.end('ok')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const answerAll = (): void => {
    holds = false
    for (const answer of waiting) answer()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waiting, answerAll }
}

// Only Linux has prlimit(1). The command changes the limit of another process.
const skip = process.platform === 'linux' ? false : 'this system lacks prlimit(1)'

/** Lets a running process open at most `left` more descriptors. The system assigns the lowest free number. */
function limitDescriptors(pid: number, left: number | undefined): void {
  const taken = descriptors(pid)
  let limit = 0
  for (let free = left ?? 1_024; taken.has(limit) || free > 0; limit += 1) if (!taken.has(limit)) free -= 1
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`])
}

const descriptors = (pid: number): Set<number> => new Set(readdirSync(`/proc/${pid}/fd`).map(Number))

/**
 * Returns the ports of the clients whose connections a process has accepted. Until a process accepts a connection, its
 * end of the connection has no inode. Source: proc_net_tcp.txt of the Linux kernel.
 */
function acceptedClients(serverPort: string): Set<number> {
  const portOf = (address = ''): number => Number.parseInt(address.split(':')[1] ?? '', 16)
  const rows = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  const accepted = rows.filter(
    ([, local, , state, , , , , , inode]) =>
      portOf(local) === Number(serverPort) && state === ESTABLISHED && inode !== '0',
  )
  return new Set(accepted.map(([, , remote]) => portOf(remote)))
}

const ESTABLISHED = '01'

async function openClients(t: Test, gateway: SoakGateway) {
  const { hostname, port } = new URL(gateway.url)
  const clients = Array.from({ length: CLIENTS }, () => {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    const client = { socket, text: '' }
    socket.on('error', () => undefined)
    socket.on('data', (part) => {
      client.text += part.toString()
    })
    return client
  })
  await until('all connections are accepted', async () => {
    const accepted = acceptedClients(port)
    return clients.every(({ socket }) => accepted.has(socket.localPort ?? 0))
  })
  return clients
}

t.test(
  'without a free descriptor for the upstream, responds with 503, counts the error and ejects no target',
  { skip },
  async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const upstream = await startUpstream(t)
    const gateway = await startSoakGateway({
      folder: t.testdir(),
      cleanup,
      upstream: upstream.url,
      upstreamSettings: { timeout: '5m' }, // no request times out
      settings: SETTINGS,
    })
    const { pid } = gateway.process
    const metric = async (name: string): Promise<number> =>
      sumSamples(await (await fetch(`${gateway.managementUrl}/metrics`)).text(), name)
    const clients = await openClients(t, gateway)
    const rejected = () => clients.filter(({ text }) => text !== '')

    limitDescriptors(pid, LEFT)
    for (const { socket } of clients) socket.write('GET /pub/x HTTP/1.1\r\nhost: a\r\n\r\n')
    await until('each request is at the upstream or has its response', async () => {
      return rejected().length + upstream.waiting.length === CLIENTS
    })
    t.equal(upstream.waiting.length, LEFT)
    for (const { text } of rejected()) {
      t.match(text, /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n/i)
      t.match(text, '"error":"server_error"')
    }

    limitDescriptors(pid, undefined)
    t.equal(
      await metric('scopegate_upstream_errors_total{upstream="api",reason="descriptors"}'),
      CLIENTS - LEFT,
    )
    t.equal(gateway.process.child.exitCode, null)
    upstream.answerAll()
    await until('the requests at the upstream have responses', async () => rejected().length === CLIENTS)
    const served = clients.filter(({ text }) => text.startsWith('HTTP/1.1 200 '))
    t.equal(served.length, LEFT, 'the open requests are not affected')
    t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200, 'the target was never ejected')
  },
)

t.test(
  'without a free descriptor for clients, serves connected clients, and new ones when a descriptor is free',
  { skip },
  async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const upstream = await startUpstream(t)
    upstream.answerAll()
    const folder = t.testdir()
    const stdout = openSync(join(folder, 'log'), 'w')
    t.teardown(() => closeSync(stdout))
    const gateway = await startSoakGateway({
      folder,
      cleanup,
      upstream: upstream.url,
      settings: SETTINGS,
      stdout,
    })
    const clients = await openClients(t, gateway)
    const ask = ({ socket }: (typeof clients)[number]): void =>
      void socket.write('GET /pub/x HTTP/1.1\r\nhost: a\r\n\r\n')
    const [first] = clients
    if (first === undefined) throw new Error('there are clients')
    ask(first)
    await until(
      'one request has a response, and its upstream connection stays open',
      async () => first.text !== '',
    )

    limitDescriptors(gateway.process.pid, 0)
    const { hostname, port } = new URL(gateway.url)
    const late = connect(Number(port), hostname)
    t.teardown(() => late.destroy())
    const over = once(
      late.on('error', () => undefined),
      'close',
    )
    await over
    t.notMatch(
      readFileSync(join(folder, 'log'), 'utf8'),
      'accept_failed',
      'the system reports no accept error',
    )
    first.text = ''
    ask(first)
    await until('the client gets another response', async () => first.text !== '')
    t.match(first.text, /^HTTP\/1\.1 200 /)
    t.equal(gateway.process.child.exitCode, null)

    limitDescriptors(gateway.process.pid, undefined)
    t.equal((await fetch(`${gateway.url}/pub/x`)).status, 200)
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    t.ok(sumSamples(metrics, 'process_open_fds') > CLIENTS)
    t.ok(sumSamples(metrics, 'process_max_fds') > CLIENTS)
  },
)
