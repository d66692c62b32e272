import t from 'tap'
import type { Rejection } from '../../../policy-engine/decide/rejection.ts'
import { type CleanHeaders, cleanHeaders } from '../../../policy-engine/match/clean-headers.ts'

const HOST = ['Host', 'api.test']

function clean(...headers: string[]): CleanHeaders | Rejection {
  return cleanHeaders([...HOST, ...headers], '1.1')
}

function endToEnd(...headers: string[]): readonly string[] {
  const cleaned = clean(...headers)
  if ('rejected' in cleaned) throw new Error(cleaned.rejected)
  return cleaned.endToEnd
}

const DROPPED = [
  'x-auth-subject',
  'X-Auth-Subject',
  'X_Auth_Subject',
  'x-auth_subject',
  'x.auth.subject',
  'X-AUTH-ANYTHING',
  'x-auth-',
  'X-Forwarded-For',
  'x_forwarded_for',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'Forwarded',
  'Via',
  'X-Real-IP',
  'X-Request-Id',
  'X-Original-URL',
  'X-Rewrite-URL',
  'X-HTTP-Method-Override',
  'x-scopegate-error',
  'Content_Length',
  'Transfer_Encoding',
  'Proxy-Authorization',
  'Proxy-Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Upgrade',
  'HTTP2-Settings',
  'Expect',
  // Ingresses, load balancers and application servers use these headers to forward certificates and identities.
  'X-ARR-ClientCert',
  'x_arr_clientcert',
  'X-ARR-SSL',
  'X-Amzn-Mtls-Clientcert',
  'X-Amzn-Mtls-Clientcert-Leaf',
  'X-Amzn-Mtls-Clientcert-Serial-Number',
  'X-Amzn-Oidc-Data',
  'X-Amzn-Oidc-Identity',
  'X-Client-Cert',
  'X-Client-Cert-Present',
  'X-Client-Cert-Chain-Verified',
  'X-Client-Cert-SPIFFE',
  'X-Client-Certificate',
  'X-Client-Verify',
  'X-Client-DN',
  'X-Client-S-DN',
  'X-Client-I-DN',
  'X-Client-Serial',
  'X-Client-Fingerprint',
  'X-SSL-Client-Verify',
  'X-SSL-Cert',
  'X-SSL-CERT-S-DN',
  'X-TLS-Client-Cert',
  'X-MTLS-Client-Cert',
  'SSL-Client-Verify',
  'SSL-Client-S-DN',
  'SSL_CLIENT_CERT',
  'SSL-Client-Fingerprint',
  'TLS-Client-Certificate',
  'CF-Client-Cert-Sha256',
  'Cf-Access-Authenticated-User-Email',
  'X-Forwarded-Client-Cert',
  'X-Forwarded-Tls-Client-Cert-Info',
  'X-Goog-Authenticated-User-Email',
  'X-Goog-IAP-JWT-Assertion',
  'X-MS-Client-Principal',
  'X-MS-Client-Principal-Name',
  'X-MS-Token-AAD-Access-Token',
  'Tailscale-User-Login',
  'Proxy-Client-Cert',
  'WL-Proxy-Client-Cert',
  'WL-Proxy-Client-IP',
  '$WSCC',
  '$wsru',
]

for (const name of DROPPED)
  t.test(`cleanHeaders() drops ${name}`, async (t) => {
    t.same(endToEnd(name, 'value', 'Accept', 'a/b'), ['Accept', 'a/b'])
  })

t.test('cleanHeaders() drops the headers that Connection nominates, and Connection itself', async (t) => {
  t.same(endToEnd('Connection', 'X-Secret, close', 'x-secret', '1', 'X-Kept', '2'), ['X-Kept', '2'])
  t.same(endToEnd('Connection', 'close', 'Connection', 'x-a', 'X-A', '1'), [], 'every Connection line counts')
})

t.test(
  'cleanHeaders() keeps an Authorization header that Connection nominates, so no caller becomes anonymous',
  async (t) => {
    t.match(clean('Connection', 'authorization', 'Authorization', 'Bearer a'), { authorization: 'Bearer a' })
  },
)

t.test('cleanHeaders() keeps headers with names that only resemble managed headers', async (t) => {
  const kept = [
    'X-Client-Id',
    'X-Client-Version',
    'X-Client-Data',
    'Sec-Fetch-Site',
    'TLS-Version',
    'X-Ms-Date',
    'X-Amzn-Trace-Id',
    'Tailscale',
    'Content-Type',
    'Cache-Control',
    'CF-Ray',
    'X-SSL',
    'Proxy-Version',
  ]
  const lines = kept.flatMap((name) => [name, '1'])
  t.same(endToEnd(...lines), lines)
})

t.test('cleanHeaders() keeps repeated and unknown headers unchanged', async (t) => {
  t.same(
    endToEnd('X-A', '1', 'x-a', '2', '__proto__', 'x', 'constructor', 'y', 'traceparent', 'z', 'X_Own', '3'),
    ['X-A', '1', 'x-a', '2', '__proto__', 'x', 'constructor', 'y', 'traceparent', 'z', 'X_Own', '3'],
  )
})

t.test('cleanHeaders() separates credentials and counts them', async (t) => {
  const cleaned = clean(
    'Authorization',
    'Bearer a',
    'authorization',
    'Bearer b',
    'Cookie',
    'a=1',
    'Cookie',
    'b=2',
  )
  t.match(cleaned, { authorizationCount: 2, cookie: 'a=1; b=2', endToEnd: [] })
})

const ONE_HOST = 'Send one Host header with a host name or an IP address.'
const LENGTH = 'Content-Length must be a decimal number of bytes.'
const CODING = 'Only the Transfer-Encoding chunked is supported.'

const MALFORMED: readonly (readonly [
  what: string,
  headers: readonly string[],
  detail: string,
  version?: string,
])[] = [
  ['no Host', [], ONE_HOST],
  ['an empty Host', ['Host', ''], ONE_HOST],
  ['two Hosts', ['Host', 'a', 'Host', 'a'], 'Send exactly one Host header.'],
  ['a list of Hosts', ['Host', 'a, b'], ONE_HOST],
  ['a Host with user info', ['Host', 'a@b'], ONE_HOST],
  ['a Host with a path', ['Host', 'a/b'], ONE_HOST],
  ['a Host with quotes', ['Host', 'evil"'], ONE_HOST],
  ['a Host with a port of six digits', ['Host', 'a:123456'], ONE_HOST],
  ['a Host with an empty port', ['Host', 'a:'], ONE_HOST],
  ['a Host with an open bracket', ['Host', '[::1'], ONE_HOST],
  ['a Host with a name in brackets', ['Host', '[host]'], ONE_HOST],
  ['an empty Host in HTTP/1.0', ['Host', ''], ONE_HOST, '1.0'],
  [
    'Content-Length together with Transfer-Encoding',
    [...HOST, 'Content-Length', '5', 'Transfer-Encoding', 'chunked'],
    'Send either Content-Length or Transfer-Encoding, not both.',
  ],
  [
    'two Content-Lengths',
    [...HOST, 'Content-Length', '5', 'content-length', '5'],
    'Send exactly one Content-Length header.',
  ],
  ['a Content-Length with a sign', [...HOST, 'Content-Length', '+5'], LENGTH],
  ['a Content-Length in hex', [...HOST, 'Content-Length', '0x10'], LENGTH],
  ['an empty Content-Length', [...HOST, 'Content-Length', ''], LENGTH],
  ['a Content-Length list', [...HOST, 'Content-Length', '5, 5'], LENGTH],
  ['a Content-Length of 16 digits', [...HOST, 'Content-Length', '1234567890123456'], LENGTH],
  [
    'two Transfer-Encodings',
    [...HOST, 'Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'],
    'Send exactly one Transfer-Encoding header.',
  ],
  ['an unsupported Transfer-Encoding', [...HOST, 'Transfer-Encoding', 'gzip, chunked'], CODING],
  ['identity as Transfer-Encoding', [...HOST, 'Transfer-Encoding', 'identity'], CODING],
  [
    'Transfer-Encoding in HTTP/1.0',
    [...HOST, 'Transfer-Encoding', 'chunked'],
    'HTTP/1.0 does not support Transfer-Encoding.',
    '1.0',
  ],
  ['HTTP/2.0', HOST, 'This server supports HTTP/1.0 and HTTP/1.1.', '2.0'],
  ['HTTP/0.9', HOST, 'This server supports HTTP/1.0 and HTTP/1.1.', '0.9'],
  ['a request of HTTP/2 without a host', [], ONE_HOST, '2'],
]

for (const [what, headers, detail, version] of MALFORMED)
  t.test(`cleanHeaders() rejects ${what}`, async (t) => {
    t.strictSame(cleanHeaders(headers, version ?? '1.1'), { rejected: 'request_malformed', detail })
  })

t.test('cleanHeaders() accepts names, addresses and ports as Host', async (t) => {
  for (const host of [
    'a',
    'A-b.c_d~1',
    '127.0.0.1:1',
    'a:12345',
    '[::1]',
    '[2001:DB8::a]:443',
    '[::ffff:1.2.3.4]',
  ])
    t.match(cleanHeaders(['Host', host], '1.1'), { body: 'none' }, host)
})

t.test('cleanHeaders() returns every part of a request', async (t) => {
  const cleaned = clean(
    ...['User-Agent', 'agent', 'DPoP', 'a', 'dpop', 'b', 'Connection', 'Upgrade', 'Upgrade', 'x'],
    ...['Authorization', 'Bearer a', 'Cookie', 'c=1', 'Content-Length', '123456789012345'],
  )
  if ('rejected' in cleaned) throw new Error(cleaned.rejected)
  const { header, ...rest } = cleaned
  t.strictSame(rest, {
    mcpCall: undefined,
    endToEnd: ['User-Agent', 'agent'],
    authorization: 'Bearer a',
    authorizationCount: 1,
    proof: 'a, b',
    cookie: 'c=1',
    userAgent: 'agent',
    body: 'sized',
    contentLength: 123_456_789_012_345,
    offersUpgrade: true,
  })
  t.type(header, 'function')
  t.match(clean(), { authorizationCount: 0, offersUpgrade: false, proof: undefined, cookie: undefined })
})

t.test('cleanHeaders() detects the body framing', async (t) => {
  t.match(clean(), { body: 'none', contentLength: 0 })
  t.match(clean('Content-Length', '0'), { body: 'none', contentLength: 0 })
  t.match(clean('Content-Length', '010'), { body: 'sized', contentLength: 10 })
  t.match(clean('Transfer-Encoding', 'Chunked'), { body: 'chunked', contentLength: 0 })
  t.match(cleanHeaders([], '1.0'), { body: 'none' }, 'HTTP/1.0 requires no Host')
})
