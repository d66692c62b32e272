import { once } from 'node:events'
import { type AddressInfo, createServer, isIP, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type {
  ClientDocumentError,
  ClientDocumentReason,
} from '../../../authorization-server/client-documents/client-document-error.ts'
import {
  type ClientDocuments,
  createClientDocuments,
  type DocumentFetch,
} from '../../../authorization-server/client-documents/client-documents.ts'
import type { DocumentNetwork } from '../../../authorization-server/client-documents/fetch-client-document.ts'
import { isPublicAddress } from '../../../platform/net/public-address.ts'
import type { ResolveName } from '../../../platform/net/resolve-name.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'
import { sendDocument, startDocumentHost } from '../../fixtures/a-document-host.ts'

const NAME = 'agent.example'
const AUTHORITY = aCertificate({ names: ['authority.example'], authority: true })
const CERTIFICATE = aCertificate({ names: [NAME], by: AUTHORITY })
/** The test hosts listen on this address. The tests of responses permit the address. */
const HOST_ADDRESS = '127.0.0.2'

const resolvesTo =
  (...addresses: readonly string[]): ResolveName =>
  async () =>
    addresses.map((address) => ({ address, family: isIP(address) }))

type Case = {
  readonly documents: ClientDocuments
  readonly fetches: readonly DocumentFetch[]
  pass(seconds: number): void
}

function guard(network: Partial<DocumentNetwork> & { readonly domains: readonly string[] }): Case {
  const fetches: DocumentFetch[] = []
  let nowMs = 0
  const documents = createClientDocuments({
    domains: network.domains,
    network: {
      resolve: resolvesTo(HOST_ADDRESS),
      isPermitted: (address) => address === HOST_ADDRESS,
      ca: AUTHORITY.cert,
      timeoutMs: 3_000,
      ...network,
    },
    tickMs: () => nowMs,
    onFetch: (fetch) => void fetches.push(fetch),
  })
  return {
    documents,
    fetches,
    pass: (seconds) => {
      nowMs += seconds * 1_000
    },
  }
}

async function reasonOf(documents: ClientDocuments, url: string): Promise<ClientDocumentReason | 'ok'> {
  return documents.find(url).then(
    () => 'ok' as const,
    (error: ClientDocumentError) => error.reason,
  )
}

/** Addresses of one lookup. No connection may reach a listener. */
const FORBIDDEN: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['127.255.255.254'],
  ['0.0.0.0'],
  ['0.1.2.3'],
  ['10.0.0.1'],
  ['10.255.255.255'],
  ['100.64.0.1'],
  ['100.100.100.200'],
  ['100.127.255.255'],
  ['168.63.129.16'],
  ['169.254.169.254'],
  ['172.16.0.1'],
  ['172.31.255.255'],
  ['192.0.0.192'],
  ['192.0.2.1'],
  ['192.88.99.1'],
  ['192.168.0.1'],
  ['198.18.0.1'],
  ['198.51.100.1'],
  ['203.0.113.1'],
  ['224.0.0.1'],
  ['240.0.0.1'],
  ['255.255.255.255'],
  ['::'],
  ['::1'],
  ['::127.0.0.1'],
  ['::ffff:127.0.0.1'],
  ['::ffff:7f00:1'],
  ['::ffff:8.8.8.8'],
  ['64:ff9b::7f00:1'],
  ['64:ff9b:1::a00:1'],
  ['100::1'],
  ['2001::1'],
  ['2001:db8::1'],
  ['2002:7f00:1::'],
  ['3fff::1'],
  ['5f00::1'],
  ['fc00::1'],
  ['fd00:ec2::254'],
  ['fe80::1'],
  ['fe80::1%lo'],
  ['fec0::1'],
  ['ff02::1'],
  ['8.8.8.8', '127.0.0.1'],
  ['127.0.0.1', '8.8.8.8'],
  ['2606:4700::1111', '::1'],
  [],
]

t.test('§8.6 of CIMD: a host with a forbidden address gets no connection', async (t) => {
  const { port, accepted } = await startListeners(t)
  const domain = `${NAME}:${port}`
  for (const addresses of FORBIDDEN) {
    const { documents } = guard({
      domains: [domain],
      resolve: resolvesTo(...addresses),
      isPermitted: isPublicAddress,
    })
    const reason = await reasonOf(documents, `https://${domain}/client`)
    t.equal(reason, 'forbidden_address', addresses.join(', '))
  }
  t.equal(accepted(), 0)
})

t.test('§8.6 of CIMD: a URL with an IP address gets no connection, even from a listed host', async (t) => {
  const { port, accepted } = await startListeners(t)
  const hosts = [`127.0.0.1:${port}`, `[::1]:${port}`, `[::ffff:7f00:1]:${port}`, `0.0.0.0:${port}`]
  const { documents } = guard({ domains: hosts, isPermitted: () => true })
  for (const host of hosts) t.equal(await reasonOf(documents, `https://${host}/c`), 'forbidden_address', host)
  // WHATWG URL section 3.5: numbers and other spellings are IPv4 addresses, so these URLs are not canonical.
  for (const host of ['2130706433', '0x7f000001', '017700000001', '127.1', '127.0.0.1.', '0x7f.1'])
    t.equal(await reasonOf(documents, `https://${host}:${port}/c`), 'invalid_url', host)
  t.equal(accepted(), 0)
})

t.test('§3 of CIMD: a URL in another spelling gets no lookup', async (t) => {
  let lookups = 0
  const { documents } = guard({
    domains: [NAME],
    resolve: async () => {
      lookups += 1
      return []
    },
  })
  for (const url of [
    `http://${NAME}/client`,
    `HTTPS://${NAME}/client`,
    `https://AGENT.example/client`,
    `https://${NAME}:443/client`,
    `https://${NAME}`,
    `https://${NAME}/`,
    `https://${NAME}/client#fragment`,
    `https://${NAME}/client#`,
    `https://${NAME}/client?`,
    `https://${NAME}/client?id=1`,
    `https://user@${NAME}/client`,
    `https://user:secret@${NAME}/client`,
    `https://@${NAME}/client`,
    `https://${NAME}/a/../client`,
    `https://${NAME}/./client`,
    `https://${NAME}/%2e%2e/client`,
    `https://${NAME}/.%2E/client`,
    `https://${NAME}\\client`,
    `https:/${NAME}/client`,
    `https://${NAME}/cli ent`,
    `https://${NAME}/cli\nent`,
    ` https://${NAME}/client`,
    `https://${NAME}/client\u0000`,
    `https://agent.ex\tample/client`,
    `https://agent\u3002example/client`, // an ideographic full stop
    `https://\u0430gent.example/client`, // a Cyrillic letter
    `https://${NAME}:/client`,
    `https://${NAME}:0443/client`,
    `https:///${NAME}/client`,
    `https://agent%2eexample/client`,
    'https://[fe80::1%25lo]/client',
    `https://${NAME}/${'a'.repeat(1_024)}`,
    'https://',
    'ftp://agent.example/client',
    'file:///etc/passwd',
  ])
    t.equal(await reasonOf(documents, url), 'invalid_url', JSON.stringify(url))
  for (const url of [
    'https://other.example/client',
    `https://www.${NAME}/client`,
    `https://${NAME}./client`,
    `https://${NAME}.evil.example/client`,
    `https://evil-${NAME}/client`,
    `https://${NAME}:8443/client`,
    'https://xn--gent-43d.example/client',
    'https://localhost/client',
    'https://127.0.0.1/client',
    'https://[::1]/client',
  ])
    t.equal(await reasonOf(documents, url), 'not_listed', url)
  t.equal(lookups, 0)
})

t.test('§8.6 of CIMD: the connection uses the checked address when the name changes', async (t) => {
  const host = await startDocumentHost(t, { address: HOST_ADDRESS, certificate: CERTIFICATE })
  const other = await startDocumentHost(t, {
    address: '127.0.0.1',
    port: host.port,
    certificate: CERTIFICATE,
  })
  const domain = `${NAME}:${host.port}`
  const url = `https://${domain}/client`
  host.respond(sendDocument(aDocument(url)))
  let lookups = 0
  const { documents, pass } = guard({
    domains: [domain],
    resolve: async () => [{ address: lookups++ === 0 ? HOST_ADDRESS : '127.0.0.1', family: 4 }],
  })
  t.equal(await reasonOf(documents, url), 'ok')
  t.equal(lookups, 1, 'one lookup for one connection')
  pass(61)
  t.equal(await reasonOf(documents, url), 'forbidden_address', 'the next fetch checks the new address')
  t.same([host.connections, other.connections], [1, 0])
})

t.test('§5 of CIMD: a response that is not a client document is rejected', async (t) => {
  const host = await startDocumentHost(t, { address: HOST_ADDRESS, certificate: CERTIFICATE })
  const target = await startDocumentHost(t, { address: '127.0.0.1', certificate: CERTIFICATE })
  const domain = `${NAME}:${host.port}`
  const url = `https://${domain}/client`
  const valid = aDocument(url)
  const of = (changes: object) => sendDocument({ ...valid, ...changes })
  const redirect =
    (status: number, location: string): Parameters<typeof host.respond>[0] =>
    (_request, response) =>
      void response.writeHead(status, { location }).end()
  const raw =
    (bytes: string): Parameters<typeof host.respond>[0] =>
    (_request, response) =>
      void response.socket?.end(bytes)
  const cases: readonly (readonly [string, ClientDocumentReason, Parameters<typeof host.respond>[0]])[] = [
    ['301', 'status', redirect(301, `https://127.0.0.1:${target.port}/`)],
    ['302', 'status', redirect(302, `https://127.0.0.1:${target.port}/`)],
    ['303', 'status', redirect(303, url)],
    ['307', 'status', redirect(307, 'http://169.254.169.254/latest/meta-data/')],
    ['308', 'status', redirect(308, '//127.0.0.1/')],
    ['204', 'status', (_request, response) => void response.writeHead(204).end()],
    ['404', 'status', (_request, response) => void response.writeHead(404).end(JSON.stringify(valid))],
    ['403', 'unavailable', (_request, response) => void response.writeHead(403).end(JSON.stringify(valid))],
    ['429', 'unavailable', (_request, response) => void response.writeHead(429).end()],
    ['500', 'unavailable', (_request, response) => void response.writeHead(500).end()],
    ['no content type', 'content_type', (_request, response) => void response.writeHead(200).end('{}')],
    ['HTML', 'content_type', sendDocument(valid, { 'content-type': 'text/html' })],
    ['text', 'content_type', sendDocument(valid, { 'content-type': 'text/plain; application/json' })],
    ['JSON lines', 'content_type', sendDocument(valid, { 'content-type': 'application/json-seq' })],
    [
      'gzip',
      'content_encoding',
      (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(50_000_000, ' '))),
    ],
    ['br', 'content_encoding', sendDocument(valid, { 'content-encoding': 'br' })],
    ['64 KiB and one byte', 'too_large', sendDocument(JSON.stringify(valid).padEnd(65_537))],
    [
      'without an end',
      'too_large',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(16_384, ' ')));
        }
        response.on('drain', more)
        more()
      },
    ],
    [
      'large headers',
      'connection',
      (_request, response) => void response.writeHead(200, { 'x-large': 'a'.repeat(20_000) }).end(),
    ],
    [
      'truncated',
      'connection',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        response.write('{')
        response.socket?.destroySoon()
      },
    ],
    [
      '101',
      'connection',
      raw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
    ],
    [
      'eleven interim responses',
      'connection',
      (request, response) => {
        for (let sent = 0; sent < 11; sent += 1) response.writeProcessing()
        sendDocument(valid)(request, response)
      },
    ],
    ['two lengths', 'connection', raw('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}')],
    ['no status line', 'connection', raw('{"client_id":"x"}\r\n\r\n')],
    [
      'eleven interim responses before a truncated response',
      'connection',
      (_request, response) => {
        for (let sent = 0; sent < 11; sent += 1) response.writeProcessing()
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
        response.write('{')
        response.socket?.destroySoon()
      },
    ],
    ['not JSON', 'not_json', sendDocument('<html>')],
    ['an array', 'not_json', sendDocument([valid])],
    ['null', 'not_json', sendDocument('null')],
    ['a repeated member', 'not_json', sendDocument(`{"client_id":"x",${JSON.stringify(valid).slice(1)}`)],
    ['__proto__', 'not_json', sendDocument(`{"__proto__":{},${JSON.stringify(valid).slice(1)}`)],
    ['a byte order mark', 'not_json', sendDocument(`\u{feff}${JSON.stringify(valid)}`)],
    ['deep nesting', 'not_json', sendDocument(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)],
    ['another client_id', 'client_id', of({ client_id: `${url}/other` })],
    ['client_id with a slash at the end', 'client_id', of({ client_id: `${url}/` })],
    ['client_id in another case', 'client_id', of({ client_id: url.replace('/client', '/Client') })],
    ['client_id in another spelling', 'client_id', of({ client_id: url.replace('agent', 'AGENT') })],
    ['no client_id', 'client_id', of({ client_id: undefined })],
    ['client_id as a list', 'client_id', of({ client_id: [url] })],
    ['a secret', 'client_secret', of({ client_secret: 'secret' })],
    ['a secret without a value', 'client_secret', of({ client_secret: null })],
    ['an expiry of a secret', 'client_secret', of({ client_secret_expires_at: 0 })],
    [
      'client_secret_basic',
      'client_authentication',
      of({ token_endpoint_auth_method: 'client_secret_basic' }),
    ],
    ['private_key_jwt', 'client_authentication', of({ token_endpoint_auth_method: 'private_key_jwt' })],
    ['another grant type', 'grant_types', of({ grant_types: ['client_credentials'] })],
    ['another response type', 'response_types', of({ response_types: ['token'] })],
    ['a name that is not a text', 'client_name', of({ client_name: { en: 'Agent' } })],
    ['a long name', 'client_name', of({ client_name: 'a'.repeat(201) })],
    ['no redirect URIs', 'redirect_uris', of({ redirect_uris: undefined })],
    ['an empty list', 'redirect_uris', of({ redirect_uris: [] })],
    ['51 redirect URIs', 'redirect_uris', of({ redirect_uris: Array(51).fill('http://127.0.0.1/') })],
    ['a number', 'redirect_uris', of({ redirect_uris: [1] })],
    ...[
      'https://other.example/callback',
      `https://${NAME}/callback`,
      `https://${domain}/callback#fragment`,
      `https://user@${domain}/callback`,
      `https://${domain}/a/../callback`,
      `http://${domain}/callback`,
      `https://${domain}.evil.example/callback`,
      `https://${domain}@evil.example/callback`,
      `https://${domain}\\@evil.example/callback`,
      `//${domain}/callback`,
      `https://${NAME}.:${new URL(url).port}/callback`,
      'http://localhost.evil.example/callback',
      'http://127.1/callback',
      'http://2130706433/callback',
      'http://[::ffff:127.0.0.1]/callback',
      'https://127.0.0.1/callback',
      'file:///callback',
      'http://127.0.0.1.evil.example/callback',
      'http://10.0.0.1/callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'javascript:alert(1)',
      'data:text/html,x',
      '*',
    ].map((uri) => [uri, 'no_redirect_uri', of({ redirect_uris: [uri] })] as const),
  ]
  const { documents, fetches } = guard({ domains: [domain] })
  for (const [name, reason, respond] of cases) {
    host.respond(respond)
    t.equal(await reasonOf(documents, url), reason, name)
  }
  t.equal(target.connections, 0, 'no redirect is followed')
  t.equal(fetches.length, cases.length)
  host.respond(sendDocument(valid))
  t.equal(await reasonOf(documents, url), 'ok', 'the same host with a valid document')
  const { documents: another } = guard({ domains: [domain] })
  host.respond((request, response) => {
    for (let sent = 0; sent < 10; sent += 1) response.writeProcessing()
    sendDocument(valid)(request, response)
  })
  t.equal(await reasonOf(another, url), 'ok', 'ten interim responses')
})

t.test('§3 of CIMD: a certificate that is invalid for the host is rejected', async (t) => {
  const otherAuthority = aCertificate({ names: ['authority.example'], authority: true })
  const certificates = {
    'for another name': aCertificate({ names: ['other.example'], by: AUTHORITY }),
    'for the address': aCertificate({ names: [HOST_ADDRESS], by: AUTHORITY }),
    'from another authority': aCertificate({ names: [NAME], by: otherAuthority }),
    'self-signed': aCertificate({ names: [NAME] }),
    expired: aCertificate({ names: [NAME], by: AUTHORITY, fromMs: 0, untilMs: 86_400_000 }),
  }
  for (const [name, certificate] of Object.entries(certificates)) {
    const host = await startDocumentHost(t, { address: HOST_ADDRESS, certificate })
    const domain = `${NAME}:${host.port}`
    const { documents } = guard({ domains: [domain] })
    t.equal(await reasonOf(documents, `https://${domain}/client`), 'connection', name)
    t.equal(host.requests.length, 0, `${name}: no request`)
  }
})

t.test('one deadline covers the lookup, the connection and the response', async (t) => {
  const host = await startDocumentHost(t, { address: HOST_ADDRESS, certificate: CERTIFICATE })
  const domain = `${NAME}:${host.port}`
  const url = `https://${domain}/client`
  const lookup = Promise.withResolvers<Awaited<ReturnType<ResolveName>>>()
  const slowLookup = guard({ domains: [domain], timeoutMs: 200, resolve: () => lookup.promise })
  t.equal(await reasonOf(slowLookup.documents, url), 'timeout', 'lookup')
  lookup.resolve([{ address: HOST_ADDRESS, family: 4 }])
  host.respond(sendDocument(aDocument(url)))
  t.equal(await reasonOf(guard({ domains: [domain] }).documents, url), 'ok')
  t.equal(host.connections, 1, 'a late lookup leads to no connection')

  const silent = createServer((socket: Socket) => void socket.on('error', () => undefined))
  const sockets: Socket[] = []
  silent.on('connection', (socket) => sockets.push(socket))
  await once(silent.listen(0, HOST_ADDRESS), 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const silentDomain = `${NAME}:${(silent.address() as AddressInfo).port}`
  const slowHandshake = guard({ domains: [silentDomain], timeoutMs: 200 })
  t.equal(await reasonOf(slowHandshake.documents, `https://${silentDomain}/client`), 'timeout', 'handshake')

  host.respond(() => undefined)
  const slowHead = guard({ domains: [domain], timeoutMs: 500 })
  t.equal(await reasonOf(slowHead.documents, url), 'timeout', 'head')
  host.respond((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(timer))
  })
  const slowBody = guard({ domains: [domain], timeoutMs: 500 })
  t.equal(await reasonOf(slowBody.documents, url), 'timeout', 'body')
  const head = 'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n'
  host.respond((_request, response) => void response.socket?.write(head + JSON.stringify(aDocument(url))))
  const endless = guard({ domains: [domain], timeoutMs: 500 })
  t.equal(await reasonOf(endless.documents, url), 'timeout', 'body without a length')
})

function aDocument(url: string): Record<string, unknown> {
  return {
    client_id: url,
    client_name: 'Agent',
    redirect_uris: [`https://${new URL(url).host}/callback`, 'http://localhost/callback'],
  }
}

/** Listens on one port of the loopback addresses of both families, and counts accepted connections. */
async function startListeners(t: Test): Promise<{ readonly port: number; accepted(): number }> {
  let accepted = 0
  const listen = async (address: string, port: number): Promise<number> => {
    const server = createServer((socket) => {
      accepted += 1
      socket.destroy()
    })
    await once(server.listen({ host: address, port, ipv6Only: true }), 'listening')
    t.teardown(() => void server.close())
    return (server.address() as AddressInfo).port
  }
  const port = await listen('0.0.0.0', 0)
  await listen('::', port)
  return { port, accepted: () => accepted }
}
