import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { runPaced } from '../../../bench/load/paced-load.ts'

async function aServer(t: Pick<Test, 'teardown'>, answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
  return { url, headers: { accept: 'application/json' }, expectedBody: '{"a":1}' }
}

t.test('runPaced() returns the time of every response, in ascending order', async (t) => {
  let asked = 0
  const target = await aServer(t, (_request, response) => {
    asked += 1
    response.end('{"a":1}')
  })
  const found = await runPaced(target, { perSecond: 200, seconds: 0.2 })
  t.equal(found.length, asked)
  t.ok(found.length > 0)
  t.same(
    found,
    found.toSorted((a, b) => a - b),
  )
})

t.test('runPaced() rejects when a response is an error', async (t) => {
  const target = await aServer(t, (_request, response) => response.writeHead(500).end('{"a":1}'))
  await t.rejects(runPaced(target, { perSecond: 100, seconds: 0.1 }), { code: 'ERR_BENCH_ANSWERS' })
})
