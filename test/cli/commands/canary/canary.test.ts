import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { measureRevocation } from '../../../../cli/commands/canary/measure-revocation.ts'
import { main } from '../../../../cli/main.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'
import { COMMAND, runCommand } from '../../../fixtures/run-command.ts'
import { scrape } from '../../../fixtures/scrape.ts'
import { spawnPlainly } from '../../../fixtures/spawn-plainly.ts'
import { until } from '../../../fixtures/until.ts'

const SECRET = 'a-secret-of-the-canary-test'
const TOKEN = 'a-token-of-the-canary-test'

/** Listens on a free port of 127.0.0.1. With `certificate`, the server uses TLS. */
async function listen(
  t: Test,
  listener: RequestListener,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<string> {
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const scheme = certificate === undefined ? 'http' : 'https'
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An issuer with client credentials. */
async function startIssuer(t: Test) {
  const state = {
    isRevoked: false,
    revocations: 0,
    revocationStatus: 200,
    isGatewayClosed: false,
    lifetimeSeconds: 60,
    /** The issuer in the metadata. Default: the address of the issuer. */
    issuer: '',
  }
  const url = await listen(t, async (request, response) => {
    const fields = new URLSearchParams(await text(request))
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const issuer = state.issuer || url
    const endpoints = { token_endpoint: `${issuer}/token?x=1`, revocation_endpoint: `${issuer}/revoke` }
    if (request.method === 'GET') return send(200, { issuer, ...endpoints })
    if (fields.get('client_secret') !== SECRET) return send(401, { error: 'invalid_client' })
    if (request.url === '/token?x=1') {
      state.isRevoked = false
      return send(200, { access_token: TOKEN, expires_in: state.lifetimeSeconds })
    }
    state.revocations++
    state.isRevoked = fields.get('token') === TOKEN && state.revocationStatus === 200
    return send(state.revocationStatus, {})
  })
  return { url, state }
}

const hasToken = (request: IncomingMessage) => request.headers.authorization === `Bearer ${TOKEN}`

async function start(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'scopegate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'secret'), `${SECRET}\n`)
  writeFileSync(join(folder, 'wrong'), 'another secret')
  writeFileSync(join(folder, 'empty'), '\n')
  const issuer = await startIssuer(t)
  const startGateway = (status: (request: IncomingMessage) => number) =>
    listen(t, (request, response) => response.writeHead(status(request)).end())
  const obeys = (request: IncomingMessage) => (hasToken(request) && !issuer.state.isRevoked ? 200 : 401)
  const argumentsFor = (
    gateways: readonly string[],
    given: Readonly<Record<string, string>> = {},
    mode: readonly string[] = ['--once'],
  ) => {
    const options = {
      issuer: issuer.url,
      'client-id': 'canary',
      'secret-file': join(folder, 'secret'),
      scope: 'canary',
      path: '/protected',
      deadline: '1',
      ...given,
    }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    return ['canary', ...mode, ...args, ...gateways.flatMap((gateway) => ['--gateway', gateway])]
  }
  const run = async (gateways: readonly string[], given: Readonly<Record<string, string>> = {}) => {
    const terminal = aTerminal({ folder })
    const code = await main(argumentsFor(gateways, given), terminal)
    t.notMatch(terminal.said.out + terminal.said.err, TOKEN, 'the output contains no token')
    t.notMatch(terminal.said.out + terminal.said.err, SECRET, 'the output contains no secret')
    return { code, ...terminal.said }
  }
  return { folder, issuer, startGateway, obeys, argumentsFor, run }
}

t.test('canary measures each gateway that rejects the revoked token', async (t) => {
  const { issuer, startGateway, obeys, run } = await start(t)
  const gateways = [await startGateway(obeys), await startGateway(obeys)]
  const result = await run(gateways)
  t.match(result, { code: 0, err: '' })
  for (const gateway of gateways)
    t.match(result.out, new RegExp(`${gateway} +\\d+\\.\\d{3} +rejects the revoked token`))
  t.equal(issuer.state.revocations, 1)
})

t.test('canary names the gateway that still accepts the revoked token at the deadline', async (t) => {
  const { startGateway, obeys, run } = await start(t)
  const good = await startGateway(obeys)
  const deaf = await startGateway((request) => (hasToken(request) ? 200 : 401))
  const result = await run([good, deaf])
  t.equal(result.code, 1)
  t.match(result.out, new RegExp(`${deaf} +- +accepts the revoked token`))
  t.match(result.err, `stage reject: no 401 within 1 s from ${deaf}. Check the revocation stream`)
})

t.test('canary reports the stage, the place and the remedy of each failure', async (t) => {
  const { issuer, startGateway, obeys, run } = await start(t)
  const gateway = await startGateway(obeys)
  const open = await startGateway(() => 200)
  const closed = await startGateway(() => 401)
  const rows: [string, readonly string[], Record<string, string>][] = [
    ['stage discovery: http://127.0.0.1:9/', [gateway], { issuer: 'http://127.0.0.1:9' }],
    ['names another issuer', [gateway], { issuer: `${issuer.url}/` }],
    ['responds with 401 (invalid_client)', [gateway], { 'secret-file': 'wrong' }],
    ['is empty. Write the client secret', [gateway], { 'secret-file': 'empty' }],
    ['cannot be read. Check --secret-file', [gateway], { 'secret-file': 'missing' }],
    ['stage anonymous', [open], {}],
    ['stage gateway: http://127.0.0.1:9/protected does not respond', ['http://127.0.0.1:9'], {}],
  ]
  for (const [message, gateways, given] of rows) {
    const result = await run(gateways, given)
    t.equal(result.code, 1, message)
    t.ok(result.err.includes(message), result.err)
  }
  t.equal(issuer.state.revocations, 0)
  t.match(await run([closed]), { code: 1, err: /stage accept: .* responds with 401, not 200/ })
  t.equal(issuer.state.revocations, 1, 'revokes the token after a failed run')
  issuer.state.revocationStatus = 503
  t.match(await run([await startGateway((request) => (hasToken(request) ? 200 : 401))]), {
    code: 1,
    err: /stage revoke: .* responds with 503/,
  })
})

t.test('canary rejects a token that expires before the deadline, and revokes it', async (t) => {
  const { issuer, startGateway, obeys, run } = await start(t)
  issuer.state.lifetimeSeconds = 1
  const result = await run([await startGateway(obeys)])
  t.equal(result.code, 1)
  t.match(result.err, 'stage token: the token expires after 1 s, before the deadline of 1 s. Set a shorter')
  t.equal(issuer.state.revocations, 1)
})

t.test(
  'canary reports a gateway that closes its connections after the revocation as unreachable',
  async (t) => {
    const { issuer, startGateway, obeys, run } = await start(t)
    const gone = await listen(t, (request, response) =>
      issuer.state.isRevoked ? request.socket.destroy() : response.writeHead(obeys(request)).end(),
    )
    const result = await run([gone])
    t.equal(result.code, 1)
    t.match(result.out, new RegExp(`${gone} +- +does not respond`))
    t.ok(result.err.includes(`stage gateway: no response after the revocation from ${gone}`), result.err)
    issuer.state.isRevoked = false
    const failing = await startGateway((request) => (issuer.state.isRevoked ? 503 : obeys(request)))
    t.match((await run([failing])).out, new RegExp(`${failing} +- +responds with 503`))
  },
)

t.test('canary ends a request without a response at the deadline', async (t) => {
  const { issuer, obeys, run } = await start(t)
  let closed: () => void = () => undefined
  const aborted = new Promise<'aborted'>((resolve) => {
    closed = () => resolve('aborted')
  })
  const answerLate = new AbortController()
  t.teardown(() => answerLate.abort())
  const silent = await listen(t, (request, response) => {
    if (!issuer.state.isRevoked) return response.writeHead(obeys(request)).end()
    // The response arrives after the deadline of 1 s and before the timeout of a request, 5 s.
    const late = setTimeout(() => response.writeHead(401).end(), 2_500)
    answerLate.signal.addEventListener('abort', () => clearTimeout(late))
    return response.on('close', closed)
  })
  const result = await run([silent])
  t.match(result, { code: 1, out: /does not respond/ })
  t.equal(await aborted, 'aborted')
})

t.test('canary revokes the token when SIGTERM stops a run', async (t) => {
  const { issuer, obeys, argumentsFor } = await start(t)
  let received: () => void = () => undefined
  const receivesToken = new Promise<void>((resolve) => {
    received = resolve
  })
  const silent = await listen(t, (request, response) =>
    hasToken(request) ? received() : response.writeHead(obeys(request)).end(),
  )
  const child = spawnPlainly(process.execPath, [COMMAND, ...argumentsFor([silent])])
  t.teardown(() => child.kill('SIGKILL'))
  const output = text(child.stderr)
  const exited = once(child, 'exit')
  await receivesToken
  child.kill('SIGTERM')
  t.same(await exited, [1, null])
  t.match(await output, 'a signal stopped the run')
  t.equal(issuer.state.revocations, 1)
  t.equal(issuer.state.isRevoked, true)
})

t.test('canary measures each address of a service, and resolves the name at each run', async (t) => {
  const { folder, issuer, startGateway, obeys } = await start(t)
  const first = await startGateway(obeys)
  const port = Number(new URL(first).port)
  const server = createServer((request, response) => response.writeHead(obeys(request)).end())
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.2', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const second = `http://127.0.0.2:${port}`
  const settings = {
    issuer: issuer.url,
    issuerAddress: undefined,
    clientId: 'canary',
    secretFile: join(folder, 'secret'),
    scope: undefined,
    gateways: [first],
    gatewayServices: [`http://gateways.test:${port}`],
    serverName: undefined,
    path: '/protected',
    validStatus: 200,
    deadlineMs: 5_000,
  }
  const asked: string[] = []
  const measure = async (addresses: readonly string[]) => {
    const results = await measureRevocation(settings, new AbortController().signal, async (name) => {
      asked.push(name)
      return addresses.map((address) => ({ address, family: 4 }))
    })
    return results.map(({ gateway, status }) => `${gateway} ${status}`)
  }
  t.same(await measure(['127.0.0.1', '127.0.0.2', '127.0.0.2']), [`${first} 401`, `${second} 401`])
  t.same(await measure(['127.0.0.1']), [`${first} 401`])
  t.same(asked, ['gateways.test', 'gateways.test'])
  const nowhere = measureRevocation(settings, new AbortController().signal, async () => {
    throw new Error('ENOTFOUND')
  })
  await t.rejects(nowhere, { stage: 'gateway', message: /gateways\.test:\d+ has no address\. Check/ })
  const ipv6 = measureRevocation(settings, new AbortController().signal, async () => [
    { address: '::ffff:127.0.0.3', family: 6 },
  ])
  await t.rejects(ipv6, { stage: 'gateway', message: `http://[::ffff:127.0.0.3]:${port}/protected does not` })
})

t.test('canary resolves the name of --gateway-service with the resolver of the system', async (t) => {
  const { startGateway, obeys, run } = await start(t)
  const gateway = await startGateway(obeys)
  const service = gateway.replace('127.0.0.1', 'localhost')
  const result = await run([], { 'gateway-service': service })
  t.match(result.out + result.err, `${gateway} `)
  t.notMatch(result.out + result.err, service, 'the output contains the address')
})

t.test('canary expects the name of --server-name in the certificate of a gateway', async (t) => {
  const { folder, obeys, argumentsFor } = await start(t)
  const certificate = aCertificate({ names: ['gateways.test'] })
  const file = join(folder, 'ca.pem')
  writeFileSync(file, certificate.cert)
  const hosts = new Set<string | undefined>()
  const gateway = await listen(
    t,
    (request, response) => {
      hosts.add(request.headers.host)
      response.writeHead(obeys(request)).end()
    },
    certificate,
  )
  const env = { NODE_EXTRA_CA_CERTS: file }
  const named = await runCommand(argumentsFor([gateway], { 'server-name': 'gateways.test' }), env)
  t.match(named, { code: 0, output: 'rejects the revoked token' })
  t.same([...hosts], ['gateways.test'])
  const unnamed = await runCommand(argumentsFor([gateway]), env)
  t.match(unnamed, { code: 1, output: 'stage gateway' })
})

t.test('canary sends the requests to the issuer to --issuer-address', async (t) => {
  const { issuer, startGateway, obeys, run } = await start(t)
  issuer.state.issuer = 'http://issuer.test'
  const given = { issuer: 'http://issuer.test', 'issuer-address': issuer.url }
  t.match(await run([await startGateway(obeys)], given), { code: 0, err: '' })
  t.equal(issuer.state.revocations, 1)
  issuer.state.issuer = 'http://other.test'
  t.match(await run([await startGateway(obeys)], given), { code: 1, err: 'names another issuer' })
})

t.test('canary rejects wrong arguments with exit code 2', async (t) => {
  const { run } = await start(t)
  t.match(await run([]), { code: 2, err: /name a gateway/ })
  for (const gateway of ['nowhere', 'ftp://127.0.0.1', 'unix:/socket'])
    t.match(await run([gateway]), { code: 2, err: /--gateway must be a URL that starts with http/ }, gateway)
  for (const gateway of ['/api', '/?a=b', '/#a'].map((rest) => `http://127.0.0.1:9${rest}`))
    t.match(await run([gateway]), { code: 2, err: /only a scheme.* like http:\/\/127.0.0.1:9\. Set --path/ })
  const withPassword = await run(['http://user:a-password@127.0.0.1:9'])
  t.equal(withPassword.code, 2)
  t.notMatch(withPassword.err, 'a-password')
  for (const name of ['gateway-service', 'issuer-address'])
    t.match(await run(['http://127.0.0.1:9'], { [name]: 'http://127.0.0.1:9/x' }), {
      code: 2,
      err: `--${name} must contain only a scheme`,
    })
  t.match(await run(['http://127.0.0.1:9'], { 'server-name': 'a b' }), { code: 2, err: /--server-name must/ })
  t.match(await run(['http://127.0.0.1:9'], { issuer: 'file:///x' }), { code: 2, err: /--issuer must be/ })
  for (const [name, value] of Object.entries({ path: 'x', deadline: '0', status: 'ok', issuer: 'x' }))
    t.match(await run(['http://127.0.0.1:9'], { [name]: value }), { code: 2, err: new RegExp(`--${name}`) })
})

t.test('canary repeats its runs as a service and exports metrics until SIGTERM', async (t) => {
  const { issuer, startGateway, obeys, argumentsFor } = await start(t)
  const gateway = await startGateway((request) => (issuer.state.isGatewayClosed ? 401 : obeys(request)))
  const args = argumentsFor([gateway], { interval: '1', 'management-port': '0' }, [])
  const child = spawnPlainly(process.execPath, [COMMAND, ...args])
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    log += part
  })
  const url = await until('it listens', async () => /"management_url":"([^"]+)"/.exec(log)?.[1])
  const hasSeries = (series: string) =>
    until(series, async () => {
      const { text } = await scrape(url)
      return text.includes(series) ? text : undefined
    })
  await hasSeries('scopegate_canary_runs_total{result="failed",stage="reject"} 0')
  await hasSeries('scopegate_canary_runs_total{result="ok",stage="-"} 2')
  const metrics = await hasSeries('scopegate_canary_revocation_seconds_count 2')
  t.match(metrics, /^scopegate_build_info\{service="canary",version="[^"]+",node="v[^"]+"\} 1$/m)
  const [, lastSuccess] = /^scopegate_canary_last_success_timestamp_seconds (\S+)$/m.exec(metrics) ?? []
  t.ok(Number(lastSuccess) > 1.6e9, 'the time of the last success')
  t.match(await (await fetch(`${url}/livez`)).text(), 'ok')
  t.equal((await fetch(`${url}/readyz`)).status, 200)
  issuer.state.isGatewayClosed = true
  await hasSeries('scopegate_canary_runs_total{result="failed",stage="accept"} 1')
  t.match(await (await fetch(`${url}/readyz?verbose`)).text(), '[!] last_run: scopegate canary: stage accept')
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  t.ok(lines.some((line) => line['event'] === 'canary_revocation' && line['gateway'] === gateway))
  t.ok(lines.some((line) => line['event'] === 'canary_failed' && line['stage'] === 'accept'))
  t.equal(lines.at(-1)?.['event'], 'stopped')
  t.notMatch(log, TOKEN)
  t.notMatch(log, SECRET)
})

t.test('canary as a service revokes the token of the current run on SIGTERM', async (t) => {
  const { issuer, obeys, argumentsFor } = await start(t)
  let received: () => void = () => undefined
  const receivesToken = new Promise<void>((resolve) => {
    received = resolve
  })
  const silent = await listen(t, (request, response) =>
    hasToken(request) ? received() : response.writeHead(obeys(request)).end(),
  )
  const child = spawnPlainly(process.execPath, [
    COMMAND,
    ...argumentsFor([silent], { 'management-port': '0' }, []),
  ])
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  await receivesToken
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
  t.equal(issuer.state.revocations, 1)
  t.equal(issuer.state.isRevoked, true)
})
