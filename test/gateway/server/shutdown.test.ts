import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as nextIteration } from 'node:timers/promises'
import t from 'tap'
import { type ShutdownOptions, shutdown } from '../../../gateway/server/shutdown.ts'
import { type FinishOptions, gracefulClose } from '../../../platform/net/graceful-close.ts'

const HOUR_MS = 3_600_000
const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

/** Starts a server with an idle connection, and begins its shutdown. */
async function beginShutdown(how: ShutdownOptions['how'], delayMs: number) {
  const server = createServer({ keepAliveTimeout: HOUR_MS }, (_request, response) => response.end('ok'))
  const closing = gracefulClose(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(REQUEST)
  await once(client, 'data')
  let polls = 0
  const pollListener = async () => void polls++
  let used: FinishOptions | undefined
  const finish = (options: FinishOptions) => {
    used = options
    return closing.finish(options)
  }
  const stopped = shutdown(
    { how, pollListener },
    {
      ...{ drain: { delayMs, graceMs: HOUR_MS }, connections: { ...closing, finish } },
      ...{ endStreams: () => undefined, sessions: { drain: async () => undefined } as never },
      ...{ server: { close: async () => undefined }, logger: {} as never },
    },
  )
  return { server, client, stopped, polls: () => polls, quietMs: () => used?.quietMs }
}

t.test('a handoff closes the listener at once, and keeps idle connections for the drain delay', async (t) => {
  const { server, client, stopped, polls, quietMs } = await beginShutdown('handoff', HOUR_MS)
  await nextIteration()
  t.equal(server.listening, false, 'without the drain delay')
  t.equal(polls(), 0, 'the other worker accepts the queued connections')
  t.equal(quietMs(), HOUR_MS)
  client.write(REQUEST)
  t.match(await text(client), /^HTTP\/1\.1 200 OK\r\n[\s\S]*connection: close/i)
  await stopped
})

t.test('a graceful shutdown accepts queued connections, and then closes idle connections', async (t) => {
  const { client, stopped, polls } = await beginShutdown('graceful', 0)
  t.equal(await text(client), '')
  await stopped
  t.equal(polls(), 2)
})
