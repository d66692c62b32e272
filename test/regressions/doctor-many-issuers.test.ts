import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { main } from '../../cli/main.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// Before the fix, `scopegate doctor` contacted all authorization servers in the metadata. Metadata with 20,000 servers
// kept the command busy for minutes.

t.test('doctor checks a limited number of authorization servers, and reports the limit', async (t) => {
  const visited = new Set<string>()
  const server = createServer((request, response) => {
    visited.add(/\/as\d+/.exec(request.url ?? '')?.[0] ?? '')
    const base = `http://${request.headers.host}`
    const servers = Array.from({ length: 500 }, (_, index) => `${base}/as${index}`)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ resource: base, authorization_servers: servers }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const terminal = aTerminal()
  const { port } = server.address() as AddressInfo
  t.equal(await main(['doctor', `http://127.0.0.1:${port}`], terminal), 1)
  t.match(terminal.said.out, 'the metadata names 500 authorization servers; only the first 20 were checked')
  t.equal([...visited].filter((one) => one !== '').length, 20)
})
