import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { resetSocket } from '../../../platform/net/reset-socket.ts'

async function openPair(): Promise<{ readonly ours: Socket; readonly theirs: Socket }> {
  const server = createServer({ allowHalfOpen: true })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const theirs = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  theirs.on('error', () => undefined)
  const [ours] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => theirs.destroy())
  return { ours, theirs }
}

for (const [name, text] of [
  ['all bytes were written', undefined],
  ['a text was left to write', 'x'],
] as const)
  t.test(`resetSocket() resets and releases a connection after end(): ${name}`, async (t) => {
    const { ours, theirs } = await openPair()
    const errors: unknown[] = []
    ours.on('error', (error) => errors.push(error))
    theirs.resume()
    const closed = once(ours, 'close')
    if (text === undefined) ours.end()
    else ours.end(text)
    resetSocket(ours)
    await closed
    t.same(errors, [])
  })

t.test('resetSocket() resets an open connection immediately', async (t) => {
  const { ours, theirs } = await openPair()
  const closed = Promise.all([once(theirs, 'error'), once(ours, 'close')])
  resetSocket(ours)
  const [error] = await closed
  t.match(error, [{ code: 'ECONNRESET' }])
})
