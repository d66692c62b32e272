import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { main } from '../../cli/main.ts'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'
import { quietPort } from '../fixtures/quiet-port.ts'

/** The paths of all routes end in `**`. */
const POLICY = `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { anonymous: challenge }
routes:
  - { name: read, match: { methods: [GET], path: "/api/{area}/**" }, scopes: { all: [courses:read] } }
  - { name: write, match: { methods: [POST], path: "/api/**" }, scopes: { all: [courses:write] } }
`

t.test('doctor finds no fault in a gateway for an issuer with minimal metadata', async (t) => {
  const server = createServer((request, response) => {
    const issuer = `http://${request.headers.host}`
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('content-type', 'application/json')
    response.setHeader('cache-control', 'no-store')
    switch (request.url) {
      case '/.well-known/oauth-authorization-server':
        response.end(
          JSON.stringify({
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            response_types_supported: ['code'],
            code_challenge_methods_supported: ['S256'],
          }),
        )
        return
      case '/authorize':
        response.removeHeader('access-control-allow-origin')
        response.writeHead(400).end()
        return
      case '/token':
        response.writeHead(400).end('{"error":"invalid_request"}')
        return
      default:
        response.writeHead(404).end('{}')
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const port = await quietPort()
  const { gateway, upstream } = await startGatewayUnderTest(t, {
    policy: POLICY,
    change: (config) => ({
      ...config,
      baseUrl: `http://127.0.0.1:${port}`,
      listen: { host: '127.0.0.1', port },
      issuers: [aJwtIssuerConfig(issuer, { keys: { by: 'uri', uri: `${issuer}/jwks` } })],
      authorizationServer: undefined,
    }),
  })
  const terminal = aTerminal()
  const code = await main(['doctor', '--json', gateway.url], terminal)
  const { findings } = JSON.parse(terminal.said.out) as {
    findings: { check: string; level: string; where: string }[]
  }
  t.same(
    findings.filter(({ level }) => level !== 'ok'),
    [],
  )
  t.equal(code, 0)
  t.ok(findings.some(({ check }) => check === 'scopes'))
  t.match(
    findings.filter(({ check }) => check === 'challenge').map(({ where }) => where),
    [`${gateway.url}/api/scopegate-doctor/scopegate-doctor`],
  )
  t.equal(upstream.requests.length, 0, 'no request reached the upstream')
})
