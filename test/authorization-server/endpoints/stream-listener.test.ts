import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { mock } from 'node:test'
import t from 'tap'
import { createStreamListener } from '../../../authorization-server/endpoints/stream-listener.ts'

/** Creates a listener with a response that has no connection. The test sets the number of unsent bytes. */
const startListener = () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const state = { unsentBytes: 0, cuts: 0, written: [] as unknown[], ended: 0, startIsSent: () => {} }
  Object.defineProperty(response, 'writableLength', { get: () => state.unsentBytes })
  response.write = (chunk: unknown, callback?: unknown) => {
    state.written.push(chunk)
    if (typeof callback === 'function') state.startIsSent = () => callback()
    return true
  }
  response.end = () => {
    state.ended += 1
    return response
  }
  const listener = createStreamListener(response, () => {
    state.cuts += 1
  })
  return { response, state, listener }
}

t.test('closes the stream above 1 MiB of unsent bytes', async (t) => {
  const { response, state, listener } = startListener()
  listener.begin('start')
  state.startIsSent()
  state.unsentBytes = 1_048_576
  listener.send('first')
  t.strictSame([state.written, state.cuts, response.destroyed], [['start', 'first'], 0, false])
  state.unsentBytes = 1_048_577
  listener.send('')
  t.equal(state.cuts, 0, 'an empty text is not sent')
  listener.send('second')
  t.strictSame([state.written, state.cuts, response.destroyed], [['start', 'first'], 1, true])
  listener.send('third')
  t.equal(state.cuts, 1)
  state.unsentBytes = 0
  listener.send('fourth')
  t.strictSame(state.written, ['start', 'first'], 'nothing follows on a closed stream')
})

t.test('buffers until begin(), and sends nothing after end()', async (t) => {
  const { response, state, listener } = startListener()
  listener.send('early')
  t.strictSame([state.written, response.headersSent], [[], false])
  listener.begin('start')
  t.equal(response.statusCode, 200)
  listener.send('late')
  listener.end()
  listener.send('after')
  t.strictSame([state.written, state.ended], [['start', 'early', 'late'], 1])
})

t.test('after end() before begin(), begin() sends the start and ends the response', async (t) => {
  const { state, listener } = startListener()
  listener.end()
  t.equal(state.ended, 0)
  listener.begin('start')
  t.strictSame([state.written, state.ended], [['start'], 1])
})

t.test('for one minute, the bytes of the start do not count as unsent bytes', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { response, state, listener } = startListener()
  listener.begin('x'.repeat(2_000_000))
  state.unsentBytes = 3_048_576
  mock.timers.tick(59_999)
  listener.send('first')
  t.strictSame([state.written.at(-1), state.cuts], ['first', 0])
  mock.timers.tick(1)
  listener.send('second')
  t.strictSame([state.written.at(-1), state.cuts, response.destroyed], ['first', 1, true])

  const other = startListener()
  other.listener.begin('x'.repeat(2_000_000))
  other.state.unsentBytes = 3_048_577
  other.listener.send('first')
  t.equal(other.state.cuts, 1, 'later events count at once')
})
