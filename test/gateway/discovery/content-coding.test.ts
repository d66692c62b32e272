import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Client } from 'undici'
import { chooseVariant } from '../../../gateway/discovery/content-coding.ts'
import { representation } from '../../../gateway/discovery/discovery-document.ts'
import { startDecisionEndpoint } from '../../fixtures/a-decision-endpoint.ts'
import { startFastifyService } from '../../fixtures/a-fastify-service.ts'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { startTlsGateway } from '../../fixtures/a-tls-gateway.ts'

type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}
type Ask = (path: string, headers?: Record<string, string>, method?: 'GET' | 'HEAD') => Promise<Answer>

/** Sends requests of HTTP/1.1 or HTTP/2 without decoding the responses. */
function openClient(t: Test, url: string, ca?: string): Ask {
  const client = new Client(url, ca === undefined ? {} : { allowH2: true, connect: { ca } })
  t.teardown(() => client.destroy())
  return async (path, headers = {}, method = 'GET') => {
    const { statusCode, headers: received, body } = await client.request({ path, method, headers })
    return { status: statusCode, headers: received, body: Buffer.from(await body.arrayBuffer()) }
  }
}

const SERVERS: readonly [string, (t: Test) => Promise<Ask>][] = [
  ['HTTP/1.1', async (t) => openClient(t, (await startGatewayUnderTest(t)).gateway.url)],
  [
    'HTTP/2',
    async (t) => {
      const { gateway, authority } = await startTlsGateway(t, { http2: true })
      return openClient(t, gateway.url, authority.cert)
    },
  ],
  [
    'the decision port',
    async (t) => openClient(t, (await startDecisionEndpoint(t, 'forward-auth')).decisions),
  ],
  [
    'the Fastify plugin',
    async (t) => openClient(t, (await startFastifyService(t, { routes: () => undefined })).url),
  ],
]

const DECODERS = [
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const

for (const [name, start] of SERVERS)
  t.test(`${name}: each coding of a document has its own entity tag, length and content`, async (t) => {
    const ask = await start(t)
    for (const [path, vary] of [
      ['/openapi.json', 'accept-encoding'],
      ['/auth.md', 'accept, accept-encoding'],
    ] as const) {
      const plain = await ask(path)
      t.equal(plain.status, 200)
      t.equal(plain.headers['content-encoding'], undefined)
      t.equal(plain.headers['vary'], vary)
      t.equal(plain.headers['content-length'], String(plain.body.length))
      const tags = new Set([plain.headers['etag']])
      for (const [coding, decode] of DECODERS) {
        const accepted = { 'accept-encoding': coding }
        // The first two requests wait for the same compression.
        const [first, coded] = await Promise.all([ask(path, accepted), ask(path, accepted)])
        t.same(first.body, coded.body)
        t.equal(coded.status, 200)
        t.equal(coded.headers['content-encoding'], coding)
        t.equal(coded.headers['vary'], vary)
        t.equal(coded.headers['content-type'], plain.headers['content-type'])
        t.equal(coded.headers['content-length'], String(coded.body.length))
        t.same(decode(coded.body), plain.body)
        const tag = String(coded.headers['etag'])
        t.match(tag, /^"/, 'a strong entity tag')
        tags.add(tag)

        const head = await ask(path, accepted, 'HEAD')
        t.equal(head.headers['content-length'], String(coded.body.length))
        t.equal(head.headers['etag'], tag)
        t.equal(head.body.length, 0)

        const unchanged = await ask(path, { ...accepted, 'if-none-match': tag })
        t.equal(unchanged.status, 304)
        t.equal(unchanged.headers['etag'], tag)
        t.equal(unchanged.headers['vary'], vary)
        t.equal(unchanged.headers['content-encoding'], undefined)
        const otherCoding = await ask(path, { ...accepted, 'if-none-match': String(plain.headers['etag']) })
        t.equal(otherCoding.status, 200, 'the tag of another coding does not match')
      }
      t.equal(tags.size, 3)
    }
  })

t.test('a small document has no coding, and its response does not vary by coding', async (t) => {
  const ask = openClient(t, (await startGatewayUnderTest(t)).gateway.url)
  const plain = await ask('/.well-known/oauth-protected-resource', { 'accept-encoding': 'br, gzip' })
  t.equal(plain.headers['content-encoding'], undefined)
  t.equal(plain.headers['vary'], undefined)
})

const LONG = representation('text/plain', 'a long document '.repeat(100), ['vary', 'accept'])
const codingOf = async (acceptEncoding: string | undefined) => {
  const { headers } = await chooseVariant(LONG, acceptEncoding).content()
  return headers.includes('content-encoding') ? headers.at(-1) : 'identity'
}

t.test('RFC 9110 §12.5.3: the weights choose the coding', async (t) => {
  for (const [accepted, coding] of [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, br;q=0.9', 'gzip'],
    ['gzip;q=0.5, br;q=0.501', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0.2, identity;q=0.5', 'identity'],
    ['gzip;q=0.2', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['gzip, *;q=0', 'gzip'],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['identity, *;q=0.5', 'identity'],
    ['identity;q=0, *', 'br'],
    ['identity;q=0, gzip;q=0.001', 'gzip'],
    ['identity;q=0', 'identity'],
    ['zstd, deflate', 'identity'],
    ['br;q=2, gzip', 'gzip'],
    ['br;q=0.0001', 'identity'],
    ['br;level=1, gzip', 'gzip'],
    ['br;q=1;q=0, gzip', 'gzip'],
    ['br, br;q=0, gzip', 'gzip'],
    ['br;q=0, br, gzip', 'gzip'],
    [' gzip ; q=1.000 ,, br;Q=0', 'gzip'],
    ['__proto__, constructor', 'identity'],
  ] as const)
    t.equal(await codingOf(accepted), coding, accepted ?? 'no header')
})

t.test('a document is compressed only once', async (t) => {
  const first = chooseVariant(LONG, 'br').content()
  t.equal(chooseVariant(LONG, 'br').content(), first)
  const content = await first
  t.equal(chooseVariant(LONG, 'br').content(), content)
  t.same(content.headers.slice(content.headers.indexOf('vary')).slice(0, 2), [
    'vary',
    'accept, accept-encoding',
  ])
})
