import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { main } from '../../../../cli/main.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

const SECRET = 'a-secret-of-the-canary-test'
const TOKEN = 'a-token-of-the-canary-test'

async function listen(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An issuer with client credentials, which the bundled server does not support. */
async function startIssuer(t: Test) {
  const state = { isRevoked: false, revocations: 0, revocationStatus: 200 }
  const url = await listen(t, async (request, response) => {
    const fields = new URLSearchParams(await text(request))
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.method === 'GET')
      return send(200, { issuer: url, token_endpoint: `${url}/token`, revocation_endpoint: `${url}/revoke` })
    if (fields.get('client_secret') !== SECRET) return send(401, { error: 'invalid_client' })
    if (request.url === '/token') return send(200, { access_token: TOKEN })
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
  const run = async (gateways: readonly string[], given: Readonly<Record<string, string>> = {}) => {
    const terminal = aTerminal({ folder })
    const options = {
      issuer: issuer.url,
      'client-id': 'canary',
      'secret-file': 'secret',
      scope: 'canary',
      path: '/protected',
      deadline: '1',
      ...given,
    }
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
    const code = await main(
      ['canary', ...args, ...gateways.flatMap((gateway) => ['--gateway', gateway])],
      terminal,
    )
    t.notMatch(terminal.said.out + terminal.said.err, TOKEN, 'the output contains no token')
    t.notMatch(terminal.said.out + terminal.said.err, SECRET, 'the output contains no secret')
    return { code, ...terminal.said }
  }
  return { issuer, startGateway, obeys, run }
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

t.test('canary rejects wrong arguments with exit code 2', async (t) => {
  const { run } = await start(t)
  t.match(await run([]), { code: 2, err: /name a gateway/ })
  t.match(await run(['nowhere']), { code: 2, err: /--gateway must be a URL/ })
  for (const [name, value] of Object.entries({ path: 'x', deadline: '0', status: 'ok', issuer: 'x' }))
    t.match(await run(['http://127.0.0.1:9'], { [name]: value }), { code: 2, err: new RegExp(`--${name}`) })
})
