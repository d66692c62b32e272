import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { providerRequest } from '../../../authorization-server/engine/provider-request.ts'
import { sendExactly } from '../../fixtures/send-exactly.ts'

const issuer = new URL('https://login.example.com:8443')

/** Sends an HTTP request to a server. Returns the request that the server received. */
async function receive(
  t: Test,
  options: { readonly method?: string; readonly body?: string } = {},
): Promise<IncomingMessage> {
  const server = createServer()
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const received = new Promise<IncomingMessage>((resolve) => {
    server.once('request', (request, response) => {
      resolve(request)
      response.end()
    })
  })
  const headers = [
    ...['accept', 'text/html', 'x-forwarded-for', '203.0.113.9', 'x-forwarded-host', 'evil.example'],
    ...['x-forwarded-proto', 'ftp', 'content-encoding', 'gzip'],
  ]
  await sendExactly(`http://127.0.0.1:${port}`, '/path?query=1', { headers, ...options })
  return received
}

t.test('providerRequest() replaces host and scheme, and removes the body headers', async (t) => {
  const request = await receive(t)
  const copy = providerRequest(request, { issuer })
  t.equal(copy.socket, request.socket)
  t.strictSame([copy.httpVersion, copy.httpVersionMajor, copy.httpVersionMinor], ['1.1', 1, 1])
  t.strictSame([copy.method, copy.url, copy.complete], ['GET', '/path?query=1', true])
  const { connection: _connection, ...headers } = copy.headers
  t.strictSame(headers, {
    host: 'login.example.com:8443',
    accept: 'text/html',
    'x-forwarded-host': 'login.example.com:8443',
    'x-forwarded-proto': 'https',
  })
  t.equal(request.headers['x-forwarded-for'], '203.0.113.9', 'the original is unchanged')
  t.equal(await text(copy), '')
})

t.test('providerRequest() has the URL and body of the endpoint', async (t) => {
  const request = await receive(t, { method: 'POST', body: 'from=client' })
  request.headers['transfer-encoding'] = 'chunked'
  const copy = providerRequest(request, { issuer, url: '/other', body: Buffer.from('scope=é') })
  t.strictSame([copy.method, copy.url], ['POST', '/other'])
  t.equal(copy.headers['content-length'], '8')
  t.equal(copy.headers['transfer-encoding'], undefined)
  t.equal(await text(copy), 'scope=é')
})

t.test('providerRequest() converts HEAD to GET, and accepts a request without method and URL', async (t) => {
  const request = await receive(t, { method: 'HEAD' })
  t.equal(providerRequest(request, { issuer }).method, 'GET')
  Object.assign(request, { method: undefined, url: undefined })
  const copy = providerRequest(request, { issuer })
  t.strictSame([copy.method, copy.url], ['GET', '/'])
})
