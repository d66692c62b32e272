import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import type { Case } from '../../fixtures/protected-paths.ts'
import type { Outcome } from '../../fixtures/send-cases.ts'

/** Sends GET requests for the paths. */
async function sendPaths(t: Test, port: number, paths: readonly string[]): Promise<Outcome> {
  const cases = paths.map(
    (target): Case => ({ what: '', method: 'GET', target, headers: '', hasToken: false }),
  )
  const worker = new Worker(new URL('../../fixtures/send-cases.ts', import.meta.url), {
    workerData: { url: `http://127.0.0.1:${port}`, cases },
  })
  t.teardown(() => worker.terminate())
  return ((await once(worker, 'message')) as [Outcome])[0]
}

t.test('the client of the spellings repeats cases without a decision, and reports the others', async (t) => {
  const attempts = new Map<string, number>()
  const server = createServer((request, response) => {
    const target = request.url ?? ''
    const attempt = (attempts.get(target) ?? 0) + 1
    attempts.set(target, attempt)
    if (target === '/never') request.socket.destroy()
    else if (target === '/failing') response.writeHead(502).end()
    else if (target === '/later' && attempt < 3) response.writeHead(503).end()
    else if (target === '/leaks')
      response.writeHead(200, { 'x-protected': 'yes', 'x-seen-subject': 'root' }).end()
    else if (target === '/open') response.writeHead(200, { 'x-seen-subject': 'none' }).end()
    else response.writeHead(404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const outcome = await sendPaths(t, port, ['/plain', '/open', '/later', '/failing', '/never', '/leaks'])
  t.same(outcome.statuses, { 200: 2, 404: 2 })
  t.same(outcome.repeated, { 502: 1, 503: 1, 'socket hang up': 1 })
  t.equal(outcome.served, 2)
  t.match(outcome.undecided, [/^502: "GET \/failing/, /"GET \/never/])
  t.equal(outcome.undecided.length, 2)
  t.match(outcome.leaked, [/^"GET \/leaks/, /^the identity root with "GET \/leaks/])
  t.equal(attempts.get('/failing'), 5)
  t.equal(attempts.get('/later'), 3)
})

t.test('the client of the spellings stops if no case has a decision', async (t) => {
  let requests = 0
  const server = createServer((_request, response) => {
    requests += 1
    response.writeHead(502).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  const outcome = await sendPaths(t, (server.address() as AddressInfo).port, Array(2_000).fill('/'))
  t.equal(outcome.undecided.length, 20, 'the number of reported cases')
  t.ok(requests < 1_100, `${requests} requests`)
})
