import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'

const LONG = 'x'.repeat(20_000)

/** The gateway rejects these requests before it has a request object. `METHOD` stands for the method. */
const REJECTED: Readonly<Record<string, readonly [status: number, bytes: string]>> = {
  'an unknown version': [400, 'METHOD / HTTP/3.0\r\nHost: a\r\n\r\n'],
  'a space in a header name': [400, 'METHOD / HTTP/1.1\r\nHost: a\r\nx y: z\r\n\r\n'],
  'two body lengths': [
    400,
    'METHOD / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
  ],
  'a head that is too large': [431, `METHOD / HTTP/1.1\r\nHost: a\r\nx: ${LONG}\r\n\r\n`],
  'empty lines before the request line': [400, '\r\n\r\nMETHOD / HTTP/3.0\r\nHost: a\r\n\r\n'],
  'a broken chunk': [
    400,
    'METHOD /pub/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n',
  ],
}

for (const [what, [status, bytes]] of Object.entries(REJECTED)) {
  t.test(`HEAD with ${what} causes ${status} without content`, async (t) => {
    const { gateway } = await startGatewayUnderTest(t)
    const { text } = await sendBytes(gateway.url, bytes.replace('METHOD', 'HEAD'))
    t.match(text, new RegExp(`^HTTP/1\\.1 ${status} .*\r\nx-scopegate-error: 1\r\n`, 's'))
    t.match(text, /\r\n\r\n$/, 'nothing follows the head')
  })

  t.test(`GET with ${what} causes ${status} with content`, async (t) => {
    const { gateway } = await startGatewayUnderTest(t)
    const { text } = await sendBytes(gateway.url, bytes.replace('METHOD', 'GET'))
    const [head = '', content = ''] = text.split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1\\.1 ${status} .*\r\nx-scopegate-error: 1\r\n`, 's'))
    t.match(JSON.parse(content), { error: 'invalid_request' })
    t.match(head, new RegExp(`\r\ncontent-length: ${content.length}\r\n`))
  })
}

t.test('a malformed request after a HEAD adds no content to its response', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  const { text, statuses } = await sendBytes(
    gateway.url,
    'HEAD /none HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/3.0\r\n\r\n',
  )
  t.same(statuses, [404])
  t.match(text, /\r\n\r\n$/)
})

t.test('a header that names HEAD does not remove the content of the response to a GET', async (t) => {
  const { gateway } = await startGatewayUnderTest(t)
  for (const line of ['HEAD : x', 'HEAD x: y', 'x: HEAD \x01', 'x: y\nHEAD / HTTP/1.1']) {
    const { text } = await sendBytes(gateway.url, `GET / HTTP/1.1\r\nHost: a\r\n${line}\r\n\r\n`)
    t.match(text, /^HTTP\/1\.1 400 .*\r\n\r\n\{"error":"invalid_request"/s, JSON.stringify(line))
  }
})
