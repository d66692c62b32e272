import { hash, X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import t from 'tap'
import {
  type CertificateReaderOptions,
  createCertificateReader,
} from '../../../gateway/pipeline/client-certificate.ts'
import { compileTrustedProxies } from '../../../gateway/server/client-address.ts'
import { aCertificate } from '../../fixtures/a-certificate.ts'

const FROM_MS = Date.UTC(2030, 0, 1)
const UNTIL_MS = Date.UTC(2031, 0, 1)
const { cert } = aCertificate({ fromMs: FROM_MS, untilMs: UNTIL_MS })
const certificate = new X509Certificate(cert)
const THUMBPRINT = hash('sha256', certificate.raw, 'base64url')

/** Counts how often the code reads the certificate. */
function tlsSocket(remoteAddress: string, authorized: boolean) {
  let inspections = 0
  const socket: TLSSocket = Object.create(TLSSocket.prototype, {
    remoteAddress: { value: remoteAddress },
    authorized: { value: authorized },
    getPeerX509Certificate: {
      value: () => {
        inspections += 1
        return certificate
      },
    },
  })
  return { socket, inspections: () => inspections }
}

function read(
  change: Partial<CertificateReaderOptions>,
  socket: object,
  headers: Readonly<Record<string, readonly string[]>> = {},
): string | undefined {
  const readCertificate = createCertificateReader({
    header: undefined,
    trustedProxies: undefined,
    listener: 'any',
    nowMs: () => FROM_MS,
    ...change,
  })
  return readCertificate({ socket, headersDistinct: headers } as unknown as IncomingMessage)
}

t.test('a certificate is valid from the first to the last millisecond of its validity period', async (t) => {
  for (const [nowMs, expected] of [
    [FROM_MS - 1, undefined],
    [FROM_MS, THUMBPRINT],
    [UNTIL_MS - 1, THUMBPRINT],
    [UNTIL_MS, undefined],
  ] as const)
    t.equal(read({ nowMs: () => nowMs }, tlsSocket('192.0.2.1', true).socket), expected, String(nowMs))
})

t.test('the gateway uses the certificate of a connection only if the listener accepts it', async (t) => {
  for (const [listener, authorized, expected] of [
    ['off', true, undefined],
    ['any', false, THUMBPRINT],
    ['any', true, THUMBPRINT],
    ['authority', false, undefined],
    ['authority', true, THUMBPRINT],
  ] as const)
    t.equal(
      read({ listener }, tlsSocket('192.0.2.1', authorized).socket),
      expected,
      `${listener} ${authorized}`,
    )
  t.equal(read({}, { remoteAddress: '192.0.2.1' }), undefined, 'a connection without TLS')
})

t.test('the gateway reads the certificate of a connection once', async (t) => {
  const { socket, inspections } = tlsSocket('192.0.2.1', true)
  const readCertificate = createCertificateReader({
    header: undefined,
    trustedProxies: undefined,
    listener: 'any',
    nowMs: () => FROM_MS,
  })
  const request = { socket, headersDistinct: {} } as unknown as IncomingMessage
  t.equal(readCertificate(request), THUMBPRINT)
  t.equal(readCertificate(request), THUMBPRINT)
  t.equal(inspections(), 1)
})

t.test(
  'the gateway reads the certificate header of trusted proxies only, and never uses their own certificate',
  async (t) => {
    const trustedProxies = compileTrustedProxies(['192.0.2.1'])
    const header = { name: 'x-client-cert', format: 'base64-der' } as const
    const sent = { 'x-client-cert': [certificate.raw.toString('base64')] }
    const proxy = () => tlsSocket('192.0.2.1', true).socket
    t.equal(read({ header, trustedProxies, listener: 'off' }, proxy(), sent), THUMBPRINT)
    t.equal(read({ header, trustedProxies }, proxy()), undefined, 'no header')
    t.equal(
      read({ header, trustedProxies, listener: 'off' }, tlsSocket('192.0.2.2', true).socket, sent),
      undefined,
    )
    t.equal(read({ header, listener: 'off' }, proxy(), sent), undefined, 'no trusted proxies')
    t.equal(read({ trustedProxies, listener: 'off' }, proxy(), sent), undefined, 'no configured header')
  },
)
