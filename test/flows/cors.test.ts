import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { launchChromium } from '../fixtures/launch-chromium.ts'

// A real browser decides which requests a page may send, and which response headers a page may read.
const chrome = await launchChromium(t)

/** Opens an empty page with its own origin. */
async function openPage(t: Test) {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>page</title>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const context = await chrome.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.goto(origin)
  const call = (url: string, init: { method?: string; headers?: Record<string, string> } = {}) =>
    page.evaluate(
      async ([url, init]) => {
        try {
          const response = await fetch(url, init)
          await response.text()
          return { status: response.status, headers: Object.fromEntries(response.headers) }
        } catch (error) {
          return { status: String(error), headers: {} as Record<string, string> }
        }
      },
      [url, init] as const,
    )
  return { origin, call }
}

t.test('a page in Chromium can send MCP headers, preconditions and custom headers', async (t) => {
  const under = await startGatewayUnderTest(t)
  const { call } = await openPage(t)
  under.upstream.reply(
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nmcp-session-id: session-1\r\netag: "v1"\r\nlink: </next>; rel="next"\r\nlocation: /pub/y\r\n\r\n{}',
  )
  const sent = {
    authorization: `Bearer ${under.issuer.store('token-1', { scope: 'courses:read' })}`,
    'mcp-session-id': 'session-1',
    'mcp-protocol-version': '2026-07-28',
    'mcp-param-region': 'eu',
    'last-event-id': '7',
    'if-match': '"v1"',
    'x-school-id': 'school-1',
  }
  const { status, headers } = await call(`${under.gateway.url}/pub/x`, { method: 'PUT', headers: sent })
  t.equal(status, 200)
  const { authorization: _, ...forwarded } = sent
  for (const [name, value] of Object.entries(forwarded)) t.same(under.upstream.seen(name), [value], name)
  t.match(headers, {
    'mcp-session-id': 'session-1',
    etag: '"v1"',
    link: '</next>; rel="next"',
    location: '/pub/y',
    'x-request-id': /./,
  })
  const rejected = await call(`${under.gateway.url}/api/challenged`)
  t.equal(rejected.status, 401)
  t.match(rejected.headers['www-authenticate'], /^Bearer .*resource_metadata=/)
})

t.test(
  'Chromium sends requests that cors allows, and hides every other response from the page',
  async (t) => {
    const [own, foreign] = await Promise.all([openPage(t), openPage(t)])
    const under = await startGatewayUnderTest(t, {
      policy: `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults:
  anonymous: challenge
  cors: { origins: ["${own.origin}"], methods: [GET, PUT], headers: [authorization, x-school-id] }
routes:
  - { name: courses, match: { methods: [GET, PUT, DELETE], path: /courses } }
`,
    })
    const url = `${under.gateway.url}/courses`
    const authorization = `Bearer ${under.issuer.store('token-1')}`
    const headers = { authorization, 'x-school-id': 'school-1' }
    t.equal((await own.call(url, { method: 'PUT', headers })).status, 200)
    t.same(under.upstream.seen('x-school-id'), ['school-1'])
    t.equal((await own.call(url)).status, 401, 'an allowed page can read the 401 response')
    t.equal(under.upstream.requests.length, 1)

    const blocked = 'TypeError: Failed to fetch'
    t.equal((await own.call(url, { method: 'DELETE', headers })).status, blocked)
    t.equal(
      (await own.call(url, { method: 'PUT', headers: { ...headers, 'if-match': '*' } })).status,
      blocked,
    )
    t.equal((await foreign.call(url, { method: 'PUT', headers })).status, blocked)
    t.equal((await foreign.call(url)).status, blocked, 'the response is hidden')
    t.equal(under.upstream.requests.length, 1, 'no blocked request was forwarded')
  },
)
