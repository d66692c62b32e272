import { connect, Socket, type TcpNetConnectOpts } from 'node:net'
import t from 'tap'
import { canReadAfterWriteError } from '../../../gateway/upstreams/read-after-write-error.ts'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { send } from '../../fixtures/send.ts'

type Method = '_write' | 'push'

/**
 * Returns a function that opens sockets. The sockets behave as in a Node.js version that does not call an overridden
 * method.
 */
function withoutCallsOf(method: Method): (options: TcpNetConnectOpts) => Socket {
  return (options) =>
    Object.defineProperty(connect(options), method, {
      get: () => Socket.prototype[method],
      set: () => undefined,
    })
}

/**
 * Returns a function that opens sockets. The sockets behave as in a Node.js version that passes other arguments to
 * `_write`.
 */
function withOtherCalls(call: (write: Socket['_write'], given: Parameters<Socket['_write']>) => unknown) {
  return (options: TcpNetConnectOpts): Socket => {
    let write = Socket.prototype._write
    return Object.defineProperty(connect(options), '_write', {
      get(this: Socket) {
        return (...given: Parameters<Socket['_write']>) => call(write.bind(this), given)
      },
      set(overriding: Socket['_write']) {
        write = overriding
      },
    })
  }
}

const OTHER_VERSIONS: Readonly<Record<string, (options: TcpNetConnectOpts) => Socket>> = {
  'does not call _write': withoutCallsOf('_write'),
  'does not call push': withoutCallsOf('push'),
  'calls _write without the encoding': withOtherCalls((write, [chunk, , done]) =>
    (write as (...given: unknown[]) => void)(chunk, done),
  ),
  'calls _write without a callback': withOtherCalls((write, [chunk, encoding]) =>
    write(chunk, encoding, () => undefined),
  ),
  'discards received bytes': (options) =>
    connect({ ...options, onread: { buffer: Buffer.alloc(64), callback: () => true } }),
  'does not allow an override': (options) =>
    Object.defineProperty(connect(options), '_write', { value: Socket.prototype._write, writable: false }),
}

t.test('canReadAfterWriteError() returns true for this version of Node.js', async (t) => {
  t.equal(await canReadAfterWriteError(), true)
})

for (const [what, open] of Object.entries(OTHER_VERSIONS))
  t.test(`canReadAfterWriteError() returns false for a Node.js version that ${what}`, async (t) => {
    t.equal(await canReadAfterWriteError(open), false)
  })

t.test('a gateway on another Node.js version logs one warning, and forwards bodies', async (t) => {
  const under = await startGatewayUnderTest(t, {
    gateway: { canReadAfterWriteError: () => canReadAfterWriteError(withoutCallsOf('_write')) },
  })
  const { status } = await send(`${under.gateway.url}/pub/x`, { method: 'POST', body: 'hello' })
  t.equal(status, 200)
  t.equal(under.upstream.requests.at(-1)?.body, 'hello')
  t.match(
    under.log().filter(({ event }) => event === 'early_responses_unavailable'),
    [{ level: 'warn' }],
  )
})

t.test('a gateway on this Node.js version logs no warning', async (t) => {
  const under = await startGatewayUnderTest(t)
  t.notMatch(under.logText(), /early_responses_unavailable/)
})
