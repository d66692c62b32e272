import t, { type Test } from 'tap'
import type { ClientDocumentError } from '../../../authorization-server/client-documents/client-document-error.ts'
import {
  type ClientDocuments,
  createClientDocuments,
  type DocumentFetch,
} from '../../../authorization-server/client-documents/client-documents.ts'
import type { ResolveName } from '../../../platform/net/resolve-name.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'
import { type DocumentHost, sendDocument, startDocumentHost } from '../../fixtures/a-document-host.ts'
import { until } from '../../fixtures/until.ts'

const NAME = 'agent.example'
const AUTHORITY = aCertificate({ names: ['authority.example'], authority: true })
const OTHER_NAME = 'other.example'
const CERTIFICATE = aCertificate({ names: [NAME, OTHER_NAME], by: AUTHORITY })
const HOST_ADDRESS = '127.0.0.2'

type Cache = {
  readonly documents: ClientDocuments
  readonly fetches: readonly DocumentFetch[]
  at(seconds: number): void
}

function startCache(
  host: DocumentHost,
  timeoutMs = 20_000,
  resolve: ResolveName = async () => [{ address: HOST_ADDRESS, family: 4 }],
): Cache {
  const fetches: DocumentFetch[] = []
  let nowMs = 0
  const documents = createClientDocuments({
    domains: [`${NAME}:${host.port}`, `${OTHER_NAME}:${host.port}`],
    network: {
      resolve,
      isPermitted: (address) => address === HOST_ADDRESS,
      ca: AUTHORITY.cert,
      timeoutMs,
    },
    tickMs: () => nowMs,
    onFetch: (fetch) => void fetches.push(fetch),
  })
  return {
    documents,
    fetches,
    at: (seconds) => {
      nowMs = seconds * 1_000
    },
  }
}

const startHost = (t: Test): Promise<DocumentHost> =>
  startDocumentHost(t, { address: HOST_ADDRESS, certificate: CERTIFICATE })

const urlAt = (host: DocumentHost, path = '/client'): string => `https://${NAME}:${host.port}${path}`

const aDocument = (url: string) => ({ client_id: url, redirect_uris: ['http://127.0.0.1/callback'] })

const reasonOf = (documents: ClientDocuments, url: string): Promise<string> =>
  documents.find(url).then(
    () => 'ok',
    (error: ClientDocumentError) => error.reason,
  )

const DATE = 'Mon, 23 Nov 2026 00:00:00 GMT'
const LATER = 'Mon, 23 Nov 2026 00:10:00 GMT'

/** Headers of a response, and the time in seconds for which the cache uses the response. */
const LIFETIMES: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
  [{}, 60],
  [{ 'cache-control': 'no-store' }, 60],
  [{ 'cache-control': 'no-cache, max-age=300' }, 60],
  [{ 'cache-control': 'max-age=0' }, 60],
  [{ 'cache-control': 'max-age=-1' }, 60],
  [{ 'cache-control': 'max-age=300' }, 300],
  [{ 'cache-control': 'public,max-age="300"' }, 300],
  [{ 'cache-control': 'max-age=300, s-maxage=600' }, 600],
  [{ 'cache-control': 'max-age=300', age: '100' }, 200],
  [{ 'cache-control': 'max-age=300', age: 'old' }, 60],
  [{ 'cache-control': 'max-age=9999999999' }, 86_400],
  [{ date: DATE, expires: LATER }, 600],
  [{ date: DATE, expires: LATER, age: '100' }, 500],
  [{ date: LATER, expires: DATE }, 60],
  [{ date: DATE, expires: '0' }, 60],
  [{ date: DATE, expires: LATER, 'cache-control': 'max-age=300' }, 300],
]

t.test('§5.2 of CIMD: a document is cached by its response headers, from a minute to a day', async (t) => {
  const host = await startHost(t)
  const url = urlAt(host)
  for (const [headers, seconds] of LIFETIMES) {
    const name = JSON.stringify(headers)
    const { documents, fetches, at } = startCache(host)
    host.respond(sendDocument(aDocument(url), headers))
    await documents.find(url)
    at(seconds - 1)
    await documents.find(url)
    t.equal(fetches.length, 1, `${name}: fresh`)
    at(seconds)
    await documents.find(url)
    t.equal(fetches.length, 2, `${name}: expired`)
  }
})

t.test('§5.2 of CIMD: a failure is not cached', async (t) => {
  const host = await startHost(t)
  const url = urlAt(host)
  const { documents, fetches } = startCache(host)
  t.equal(await reasonOf(documents, url), 'status')
  host.respond(sendDocument({ ...aDocument(url), client_secret: 'secret' }))
  t.equal(await reasonOf(documents, url), 'client_secret')
  host.respond(sendDocument(aDocument(url)))
  t.match(await documents.find(url), { client_id: url })
  t.same(
    fetches.map(({ result }) => result),
    ['status', 'client_secret', 'ok'],
  )
})

/** With these responses, the host counts as unavailable. */
const UNAVAILABLE: readonly Parameters<DocumentHost['respond']>[0][] = [
  (_request, response) => void response.writeHead(403).end(),
  (_request, response) => void response.writeHead(429).end(),
  (_request, response) => void response.writeHead(500).end(),
  (_request, response) => void response.writeHead(503).end(),
  (_request, response) => void response.destroy(),
]

t.test('an expired document is used for one hour while its host is unavailable', async (t) => {
  const host = await startHost(t)
  const url = urlAt(host)
  const { documents, fetches, at } = startCache(host)
  host.respond(sendDocument(aDocument(url)))
  const document = await documents.find(url)
  for (const [index, respond] of UNAVAILABLE.entries()) {
    host.respond(respond)
    at(60 + 10 * index)
    t.equal(await documents.find(url), document)
    t.equal(await documents.find(url), document)
    t.equal(fetches.length, index + 2, 'one fetch in ten seconds')
  }
  at(60 + 3_599)
  t.equal(await documents.find(url), document)
  at(60 + 3_600)
  t.equal(await reasonOf(documents, url), 'connection')
})

t.test('a document is not used any more after its host removes or breaks it', async (t) => {
  const host = await startHost(t)
  const url = urlAt(host)
  for (const [reason, respond] of [
    ['status', (_request, response) => void response.writeHead(404).end()],
    ['status', (_request, response) => void response.writeHead(410).end()],
    ['client_id', sendDocument({ ...aDocument(url), client_id: `${url}/` })],
  ] as const satisfies readonly (readonly [string, Parameters<DocumentHost['respond']>[0]])[]) {
    const { documents, at } = startCache(host)
    host.respond(sendDocument(aDocument(url)))
    await documents.find(url)
    at(60)
    host.respond(respond)
    t.equal(await reasonOf(documents, url), reason)
    at(70)
    host.respond((_request, response) => void response.writeHead(503).end())
    t.equal(await reasonOf(documents, url), 'unavailable', 'the removed document stays removed')
  }
})

t.test('concurrent requests for one document share one fetch', async (t) => {
  const host = await startHost(t)
  const url = urlAt(host)
  const { documents } = startCache(host)
  host.respond(sendDocument(aDocument(url)))
  const found = await Promise.all(Array.from({ length: 20 }, () => documents.find(url)))
  t.equal(new Set(found).size, 1)
  t.equal(host.connections, 1)
})

t.test(
  'at most eight fetches run at once for a host, and further fetches wait in a bounded queue',
  async (t) => {
    const host = await startHost(t)
    const { documents, fetches } = startCache(host)
    const held: (() => void)[] = []
    host.respond((request, response) => {
      const send = sendDocument(aDocument(urlAt(host, request.url)))
      held.push(() => send(request, response))
    })
    const results = Array.from({ length: 41 }, (_, index) =>
      reasonOf(documents, urlAt(host, `/client-${index}`)),
    )
    t.equal(await results[40], 'busy')
    await until('eight requests arrive', async () => held.length === 8)
    t.equal(host.connections, 8)
    let most = 0
    for (let sent = 0; sent < 40; sent += 1) {
      await until('a request arrives', async () => held.length > 0)
      most = Math.max(most, held.length)
      held.shift()?.()
    }
    t.equal(most, 8)
    t.same(new Set(await Promise.all(results.slice(0, 40))), new Set(['ok']))
    t.equal(fetches.filter(({ result }) => result === 'busy').length, 1)
  },
)

t.test('a slow host does not delay the documents of another host', async (t) => {
  const host = await startHost(t)
  const { documents } = startCache(host)
  const otherUrl = `https://${OTHER_NAME}:${host.port}/client`
  const sendOther = sendDocument(aDocument(otherUrl))
  const held: (() => void)[] = []
  host.respond((request, response) => {
    if (request.headers.host === new URL(otherUrl).host) sendOther(request, response)
    else held.push(() => response.writeHead(404).end())
  })
  const slow = Array.from({ length: 9 }, (_, index) => reasonOf(documents, urlAt(host, `/client-${index}`)))
  await until('eight requests arrive', async () => held.length === 8)
  t.equal(await reasonOf(documents, otherUrl), 'ok')
  for (const send of held) send()
  await until('the last request arrives', async () => held.length === 9)
  held[8]?.()
  t.same(new Set(await Promise.all(slow)), new Set(['status']))
})

t.test('a fetch that waits for other fetches has a time limit', async (t) => {
  const host = await startHost(t)
  const { documents, fetches } = startCache(host, 1_000)
  host.respond(() => undefined)
  const results = await Promise.all(
    Array.from({ length: 9 }, (_, index) => reasonOf(documents, urlAt(host, `/client-${index}`))),
  )
  t.same(new Set(results), new Set(['timeout']))
  t.equal(fetches.length, 9)
})

t.test('concurrent fetches from one host share one lookup, which outlives their time limit', async (t) => {
  const host = await startHost(t)
  const address = { address: HOST_ADDRESS, family: 4 }
  const pending = Promise.withResolvers<readonly (typeof address)[]>()
  let lookups = 0
  const { documents } = startCache(host, 1_000, () => {
    lookups += 1
    return lookups === 1 ? pending.promise : Promise.resolve([address])
  })
  host.respond((request, response) => sendDocument(aDocument(urlAt(host, request.url)))(request, response))
  const first = await Promise.all(['/a', '/b'].map((path) => reasonOf(documents, urlAt(host, path))))
  t.same(first, ['timeout', 'timeout'])
  const joined = reasonOf(documents, urlAt(host, '/c'))
  pending.resolve([address])
  t.equal(await joined, 'ok')
  t.equal(lookups, 1)
  t.equal(await reasonOf(documents, urlAt(host, '/d')), 'ok')
  t.equal(lookups, 2, 'the next fetch looks up the name again')
})

t.test('the server uses only these members of a document', async (t) => {
  const host = await startHost(t)
  const url = urlAt(host)
  const { documents } = startCache(host)
  host.respond(
    sendDocument({
      client_id: url,
      client_name: 'Agent',
      client_uri: 'https://169.254.169.254/',
      logo_uri: 'https://169.254.169.254/',
      jwks_uri: 'https://169.254.169.254/',
      jwks: { keys: [] },
      sector_identifier_uri: 'https://169.254.169.254/',
      backchannel_logout_uri: 'https://169.254.169.254/',
      id_token_signed_response_alg: 'none',
      application_type: 'web',
      scope: 'openid',
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      redirect_uris: [
        `https://${new URL(url).host}/callback`,
        `https://${new URL(url).host}/callback`,
        'https://claude.com/callback',
        'http://127.0.0.1:33418/',
        'http://localhost/callback',
        'http://[::1]/callback',
        'cursor://anysphere.cursor-mcp/oauth/callback',
      ],
      dpop_bound_access_tokens: true,
    }),
  )
  t.strictSame(await documents.find(url), {
    client_id: url,
    client_name: 'Agent',
    application_type: 'native',
    redirect_uris: [
      `https://${new URL(url).host}/callback`,
      'http://127.0.0.1:33418/',
      'http://localhost/callback',
      'http://[::1]/callback',
    ],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    dpop_bound_access_tokens: true,
  })
})
