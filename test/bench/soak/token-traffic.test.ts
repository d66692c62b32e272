import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startTokenTraffic } from '../../../bench/soak/token-traffic.ts'

t.test(
  'startTokenTraffic() sends the given tokens cyclically, and reports the outcome of each request',
  async (t) => {
    const enough = Promise.withResolvers<void>()
    let taken = 0
    const server = createServer((request, response) => {
      taken += 1
      if (taken === 40) enough.resolve()
      if (request.headers.authorization === 'Bearer broken') request.socket.destroy()
      else response.writeHead(request.headers.authorization === 'Bearer good' ? 200 : 401).end('answer')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const traffic = startTokenTraffic({
      streams: [
        { name: 'good', urls: [url], tokens: ['good'] },
        { name: 'others', urls: [url, `${url}2`], tokens: ['bad', 'broken', 'bad'] },
      ],
      perSecond: 200,
    })
    await enough.promise
    const uses = await traffic.stop()
    t.ok(uses.length >= 40)
    const of = (name: string) => uses.filter(({ stream }) => stream === name)
    t.ok(Math.abs(of('good').length - of('others').length) <= 1, 'streams take turns')
    t.ok(of('good').every(({ status }) => status === 200))
    for (const { token, status } of of('others')) t.equal(status, token === 'broken' ? 0 : 401)
    t.same(
      new Set(of('others').map(({ token, url }) => `${token} ${url.slice(-1)}`)),
      new Set(['bad /', 'broken 2', 'bad /', 'bad 2', 'broken /']),
    )
    t.ok(uses.every(({ tookMs, atMs }) => tookMs >= 0 && atMs <= Date.now()))
  },
)
