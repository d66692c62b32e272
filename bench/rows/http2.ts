import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:http2'
import { Agent, get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { aCertificate } from '../../test/fixtures/a-certificate.ts'
import { checkOut } from '../check-out.ts'
import type { Cleanup } from '../cleanup.ts'
import { createExchangeLoad, type Exchange } from '../load/exchange-load.ts'
import { CONNECTIONS } from '../load/load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { type StartedGateway, startProduct } from '../product/start-product.ts'
import type { Row } from '../row.ts'
import type { Subject } from '../subject.ts'
import { UPSTREAM_RESPONSE } from '../upstream/response.ts'

/** Routes that permit anonymous requests, and the responses of the upstream. */
const RESPONSES = [
  { path: '/api/courses', size: '110 bytes', body: UPSTREAM_RESPONSE },
  { path: '/api/events', size: '1 MB', body: 'x'.repeat(1_000_000) },
] as const

/**
 * The cost of a request over TLS with HTTP/2 compared with HTTP/1.1. With `--previous REVISION`, the row also measures
 * HTTP/2 in the gateway of that revision.
 */
export const http2: Row = {
  name: 'http2',
  run: async (bench) => {
    const { cores, folder, cleanup, previous } = bench
    const upstream = await startUpstream(cleanup)
    const product = await startProduct({ cores, folder, cleanup, upstream })
    await product.gateway.stop()
    const { cert, key } = aCertificate()
    const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key, { mode: 0o600 })
    const startGateway = (name: string, checkout?: string): Promise<StartedGateway> => {
      const own = join(folder, name)
      mkdirSync(own)
      const settings = {
        SCOPEGATE_BASE_URL: product.baseUrl.replace('http:', 'https:'),
        SCOPEGATE_TLS__CERT_FILE: certFile,
        SCOPEGATE_TLS__KEY_FILE: keyFile,
        SCOPEGATE_TLS__HTTP2: 'true',
      }
      return product.startGateway({ folder: own, cleanup, checkout, settings })
    }
    const gateway = await startGateway('gateway')
    const variants = [
      { name: 'HTTP/1.1', started: gateway, exchange: exchangeHttp1 },
      { name: 'HTTP/2', started: gateway, exchange: exchangeHttp2 },
    ]
    if (previous !== undefined)
      variants.push({
        name: `revision ${previous}, HTTP/2`,
        started: await startGateway('previous-gateway', checkOut(previous, bench)),
        exchange: exchangeHttp2,
      })
    const exchanges = new Map<string, Exchange>()
    const subjects = RESPONSES.flatMap(({ path, size, body }) =>
      variants.map(({ name, started, exchange }): Subject => {
        // The fragment makes the URL of each subject different. Clients do not send it.
        const url = `${started.url.replace('http:', 'https:')}${path}#${name}`
        exchanges.set(url, exchange({ url, cert, expectedBody: body, cleanup }))
        return {
          name: `${name}, ${size}`,
          process: started.gateway,
          core: cores?.server,
          target: { url, headers: {}, expectedBody: body },
        }
      }),
    )
    const load = createExchangeLoad(exchanges)
    return {
      title: 'HTTP/2 compared with HTTP/1.1: anonymous GET over TLS',
      conditions: {
        load: `${load.name}: ${CONNECTIONS} connections with HTTP/1.1, one connection with ${CONNECTIONS} streams with HTTP/2`,
        upstream: 'a server in the process of the benchmark',
        ...(previous === undefined ? { 'not measured': 'a previous revision (--previous REVISION)' } : {}),
      },
      measured: await measureRounds({ ...bench, subjects, load }),
      ratios: RESPONSES.flatMap(({ size }) =>
        variants
          .filter(({ name }) => name !== 'HTTP/2')
          .map(({ name }) => ({ of: `HTTP/2, ${size}`, to: `${name}, ${size}`, goal: undefined })),
      ),
    }
  },
}

/** @returns the address of the upstream. */
async function startUpstream(cleanup: Cleanup): Promise<string> {
  const server = createServer((request, response) => {
    const body = RESPONSES.find(({ path }) => path === request.url)?.body ?? ''
    response.setHeader('content-type', 'application/json').end(body)
  }).listen(0, '127.0.0.1')
  cleanup.add(() => {
    server.close().closeAllConnections()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

type ExchangeOptions = {
  readonly url: string
  readonly cert: string
  readonly expectedBody: string
  readonly cleanup: Cleanup
}

function exchangeHttp1({ url, cert, expectedBody, cleanup }: ExchangeOptions): Exchange {
  const agent = new Agent({ ca: cert, keepAlive: true, maxSockets: CONNECTIONS })
  cleanup.add(() => agent.destroy())
  return async () => {
    const [response] = await once(get(url, { agent }), 'response')
    return classify(response.statusCode, await buffer(response), expectedBody)
  }
}

function exchangeHttp2({ url, cert, expectedBody, cleanup }: ExchangeOptions): Exchange {
  const { pathname } = new URL(url)
  const open = () => connect(url, { ca: cert })
  let session = open()
  cleanup.add(() => session.destroy())
  return async () => {
    // The gateway closes an idle connection.
    if (session.closed) session = open()
    const stream = session.request({ ':path': pathname })
    const [[headers], body] = await Promise.all([once(stream, 'response'), buffer(stream)])
    return classify(headers[':status'], body, expectedBody)
  }
}

function classify(
  status: unknown,
  body: Buffer,
  expectedBody: string,
): 'right' | 'wrongStatus' | 'wrongBody' {
  if (status !== 200) return 'wrongStatus'
  return body.toString('latin1') === expectedBody ? 'right' : 'wrongBody'
}
