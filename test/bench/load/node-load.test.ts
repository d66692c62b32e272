import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createCleanup } from '../../../bench/cleanup.ts'
import type { LoadResult, Target } from '../../../bench/load/load.ts'
import { startNodeLoad } from '../../../bench/load/node-load.ts'

const SECONDS = 1

async function loadOn(t: Test, answer: RequestListener, own: Partial<Target> = {}): Promise<LoadResult> {
  const cleanup = createCleanup()
  t.teardown(cleanup.run)
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  const load = await startNodeLoad({ cores: undefined, cleanup })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/courses`
  const target = { url, headers: { authorization: 'Bearer a-token' }, expectedBody: '{"a":1}', ...own }
  const result = await load.run(target, SECONDS)
  // After its connections close, the server has received all sent bytes.
  await new Promise((resolve) => server.close(resolve))
  return result
}

t.test('startNodeLoad() counts responses with an unexpected status', async (t) => {
  const result = await loadOn(t, (_request, response) => response.writeHead(401).end('{"a":1}'))
  t.ok(result.wrongStatus > 0)
  t.match(result, { right: 0, wrongBody: 0, broken: 0 })
})

t.test('startNodeLoad() counts responses with an unexpected body', async (t) => {
  const result = await loadOn(t, (_request, response) => response.end('{"a":2}'))
  t.ok(result.wrongBody > 0)
  t.match(result, { right: 0, wrongStatus: 0, broken: 0 })
})

t.test('startNodeLoad() counts broken connections and stops', async (t) => {
  const result = await loadOn(t, (request) => request.socket.destroy())
  t.ok(result.broken > 0)
  t.match(result, { right: 0, wrongStatus: 0, wrongBody: 0 })
})

t.test('startNodeLoad() sends the headers and counts expected responses', async (t) => {
  const seen = new Set<string | undefined>()
  const result = await loadOn(t, (request, response) => {
    seen.add(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.end('{"a":1}')
  })
  t.ok(result.right > 0)
  t.match(result, { wrongStatus: 0, wrongBody: 0, broken: 0 })
  t.same([...seen], ['GET /api/courses Bearer a-token'])
})

t.test('startNodeLoad() sends the tokens cyclically', async (t) => {
  const seen: (string | undefined)[] = []
  const tokens = ['one', 'two', 'three']
  await loadOn(
    t,
    (request, response) => {
      seen.push(request.headers.authorization)
      response.end('{"a":1}')
    },
    { tokens },
  )
  const times = tokens.map((token) => seen.filter((one) => one === `Bearer ${token}`).length)
  t.equal(
    times.reduce((sum, count) => sum + count),
    seen.length,
    'nothing else was sent',
  )
  t.ok(Math.min(...times) > 0 && Math.max(...times) - Math.min(...times) <= 1, `${times}`)
})
