import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import {
  isDrainingBody,
  isLingering,
  type LocalReply,
  sendContinue,
  sendReply,
} from '../../../gateway/pipeline/send-reply.ts'
import { until } from '../../fixtures/until.ts'

const REPLY: LocalReply = { status: 200, headers: ['content-length', '2'], body: 'ok' }

/** The request and the response of the server, and the connection of the client. */
type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly closes: boolean
  /** Returns all bytes that the client has received. */
  received(): string
  write(bytes: string): void
}

/** Sends the head of a request. The server replies before the body arrives. */
async function exchange(
  t: Test,
  head: readonly string[],
  options: { readonly closes?: boolean; readonly reply?: LocalReply } = {},
): Promise<Exchange> {
  const server = createServer()
  server.on('checkContinue', (request, response) => server.emit('request', request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })
  let received = ''
  client.on('data', (chunk) => (received += chunk.toString('latin1')))
  client.on('error', () => undefined)
  client.write(`${['POST / HTTP/1.1', 'Host: a', ...head].join('\r\n')}\r\n\r\n`)
  const [request, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  const closes = sendReply(request, response, options.reply ?? REPLY, { closes: options.closes ?? false })
  return { request, response, closes, received: () => received, write: (bytes) => client.write(bytes) }
}

const hasReply = ({ received }: Exchange) => until('the reply', async () => received().endsWith('\r\n\r\nok'))

t.test('sendReply() closes the connection after a large, chunked or withheld body', async (t) => {
  for (const [head, closes, lingers, drains] of [
    [['Content-Length: 0'], false, false, false],
    [['Content-Length: 65536'], false, false, true],
    [['Content-Length: 65537'], true, true, false],
    [['Transfer-Encoding: chunked'], true, true, false],
    [['Content-Length: 1', 'Expect: 100-continue'], true, false, false],
    [['Content-Length: 0', 'Expect: 100-continue'], false, false, false],
  ] as const) {
    const sent = await exchange(t, head)
    const what = head.join(', ')
    t.equal(sent.closes, closes, what)
    t.equal(isLingering(sent.response), lingers, what)
    t.equal(isDrainingBody(sent.request.socket), drains, what)
    await hasReply(sent)
    if (closes) t.match(sent.received(), /\r\nconnection: close\r\n/, what)
  }
})

t.test('sendReply() drains a small body, and then accepts the next request on the connection', async (t) => {
  const sent = await exchange(t, ['Content-Length: 3'])
  t.equal(isDrainingBody(sent.request.socket), true)
  sent.write('abc')
  await until('the body', async () => !isDrainingBody(sent.request.socket))
})

t.test(
  'sendReply() closes the connection if `closes` is set, and never changes the headers of the reply',
  async (t) => {
    const sent = await exchange(t, ['Content-Length: 0'], { closes: true })
    t.equal(sent.closes, true)
    t.strictSame(REPLY.headers, ['content-length', '2'])
    await hasReply(sent)
    t.match(sent.received(), /^HTTP\/1\.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n/)
  },
)

t.test('sendReply() sends the head of a reply without a body before the request body ends', async (t) => {
  const reply: LocalReply = { status: 204, headers: ['x-a', 'b'], body: undefined }
  const sent = await exchange(t, ['Transfer-Encoding: chunked'], { reply })
  await until('the head', async () => sent.received().endsWith('\r\n\r\n'))
  t.match(sent.received(), /^HTTP\/1\.1 204 No Content\r\nx-a: b\r\nconnection: close\r\n/)
  t.equal(sent.response.writableEnded, false)
})

t.test('sendReply() ends the response when more than 1 MiB of a large body is drained', async (t) => {
  const sent = await exchange(t, ['Content-Length: 9000000'])
  await hasReply(sent)
  let drained = 0
  sent.request.on('data', (chunk: Buffer) => (drained += chunk.length))
  sent.write('x'.repeat(1024 * 1024))
  await until('1 MiB', async () => drained === 1024 * 1024)
  t.equal(sent.response.writableEnded, false)
  sent.write('x')
  await until('the end', async () => sent.response.writableEnded)
  t.equal(sent.request.isPaused(), true)
  t.equal(sent.request.listenerCount('data'), 1, 'only the listener of this test')
})

t.test('sendReply() ends the response when the large body ends', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const sent = await exchange(t, ['Transfer-Encoding: chunked'])
  t.equal(sent.response.writableEnded, false)
  sent.write('3\r\nabc\r\n0\r\n\r\n')
  await once(sent.request, 'end')
  t.equal(sent.response.writableEnded, true)
})

t.test('sendReply() ends the response after draining a large body for two seconds', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const sent = await exchange(t, ['Transfer-Encoding: chunked'])
  mock.timers.tick(1_999)
  t.equal(sent.response.writableEnded, false)
  mock.timers.tick(1)
  t.equal(sent.response.writableEnded, true)
  t.equal(sent.request.isPaused(), true)
})

t.test('endBeforeBody() stops its timer when the client leaves', async (t) => {
  const stop = mock.method(globalThis, 'clearTimeout')
  t.teardown(() => stop.mock.restore())
  const sent = await exchange(t, ['Transfer-Encoding: chunked'])
  const before = stop.mock.callCount()
  sent.response.destroy()
  await once(sent.response, 'close')
  t.equal(stop.mock.callCount(), before + 1)
})

t.test('sendContinue() sends a 100 response only to a client that expects it', async (t) => {
  for (const [httpVersion, expect, expected] of [
    ['1.1', '100-continue', 1],
    ['1.1', '100-Continue', 1],
    ['1.1', 'other', 0],
    ['1.1', undefined, 0],
    ['1.0', '100-continue', 0],
  ] as const) {
    let count = 0
    const response = { writeContinue: () => (count += 1) } as unknown as ServerResponse
    sendContinue({ httpVersion, headers: { expect } } as unknown as IncomingMessage, response)
    t.equal(count, expected, `HTTP/${httpVersion} ${expect}`)
  }
})
