import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { sendBytes } from '../fixtures/send-bytes.ts'
import {
  readRequest,
  type StrictRequest,
  type StrictUpstream,
  startStrictUpstream,
} from '../fixtures/strict-upstream.ts'

// Node's parser accepts some requests that the grammar of RFC 9112 does not permit. SECURITY.md lists all of them.
const HEADERS = 'Host: a\r\nConnection: close\r\n'
const CHUNKED = `${HEADERS}Transfer-Encoding: chunked\r\n`
const get = (line: string) => `${line}\r\n${HEADERS}\r\n`
const post = (body: string) => `POST /pub/x HTTP/1.1\r\n${CHUNKED}\r\n${body}`
const PLAIN = get('GET /pub/x HTTP/1.1')
const PLAIN_BODY = post('5\r\nhello\r\n0\r\n\r\n')

/**
 * The accepted forms, by their names in SECURITY.md. `sent`: the bytes from the client. `plain`: a request that RFC
 * 9112 permits. The gateway must forward both requests in the same way.
 */
const FORMS: Readonly<Record<string, readonly (readonly [sent: string, plain: string])[]>> = {
  'CR and LF before the request line': [
    [`\r\n${PLAIN}`, PLAIN],
    [`\n${PLAIN}`, PLAIN],
    [`\r${PLAIN}`, PLAIN],
    [`\r\r\n\n\r${'\n'.repeat(500)}${PLAIN}`, PLAIN],
  ],
  'several spaces before or after the target': [
    [get('GET  /pub/x HTTP/1.1'), PLAIN],
    [get('GET /pub/x  HTTP/1.1'), PLAIN],
    [get(`GET${' '.repeat(100)}/pub/x${' '.repeat(100)}HTTP/1.1`), PLAIN],
  ],
  '`RTSP/1.0` or `RTSP/1.1` as the version of a GET, POST or OPTIONS request': [
    [get('GET /pub/x RTSP/1.0'), get('GET /pub/x HTTP/1.0')],
    [get('GET /pub/x RTSP/1.1'), PLAIN],
    [PLAIN_BODY.replace('HTTP', 'RTSP'), PLAIN_BODY],
  ],
  'chunk extensions of at most 16 KiB': [
    [post('5;a\r\nhello\r\n0\r\n\r\n'), PLAIN_BODY],
    [post('5;a=b;c="d;\\"e"\r\nhello\r\n0;f\r\n\r\n'), PLAIN_BODY],
    [post(`5;${'a'.repeat(16_000)}\r\nhello\r\n0\r\n\r\n`), PLAIN_BODY],
  ],
}

/** Starts a gateway and an upstream. The upstream accepts only the grammar of RFC 9112. */
async function startBoth(test: Test): Promise<{ under: GatewayUnderTest; upstream: StrictUpstream }> {
  const upstream = await startStrictUpstream()
  const under = await startGatewayUnderTest(test, {
    change: (config) => ({
      ...config,
      upstreams: config.upstreams.map((one) => (one.name === 'api' ? { ...one, urls: [upstream.url] } : one)),
    }),
  })
  test.teardown(() => upstream.close())
  return { under, upstream }
}

t.test('SECURITY.md lists the forms that are accepted beyond RFC 9112', async (t) => {
  const page = readFileSync(join(findPackageRoot(), 'SECURITY.md'), 'utf8')
  const section = /^### Accepted forms$(.*?)^#/ms.exec(page)?.[1] ?? ''
  const listed = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, form = '']) => form.trim()).slice(2)
  t.same(listed, Object.keys(FORMS))
})

t.test('forwards an accepted form in the same way as the plain request', async (t) => {
  const { under, upstream } = await startBoth(t)
  const forwarded = async (bytes: string): Promise<StrictRequest | undefined> => {
    const before = upstream.requests.length
    const { statuses } = await sendBytes(under.gateway.url, bytes)
    t.same(statuses, [200], JSON.stringify(bytes.slice(0, 60)))
    t.equal(upstream.requests.length, before + 1, 'one request is forwarded')
    return withoutId(upstream.requests.at(-1))
  }
  for (const [form, examples] of Object.entries(FORMS))
    for (const [sent, plain] of examples)
      t.same(await forwarded(sent), await forwarded(plain), `${form}: ${JSON.stringify(sent.slice(0, 60))}`)
  t.same(upstream.problems, [])
})

t.test('other protocols, and RTSP with other methods, are rejected', async (t) => {
  const { under, upstream } = await startBoth(t)
  const lines = [
    ...['GET', 'POST', 'OPTIONS'].flatMap((method) =>
      [
        'RTSP/0.9',
        'RTSP/2.0',
        'RTSP/1.2',
        'rtsp/1.0',
        'RTSP /1.0',
        'RTSPS/1.0',
        'ICE/1.0',
        'SIP/2.0',
        'HTTQ/1.1',
      ].map((version) => `${method} /pub/x ${version}`),
    ),
    ...['HEAD', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /pub/x RTSP/1.0`),
  ]
  for (const line of lines) t.same((await sendBytes(under.gateway.url, get(line))).statuses, [400], line)
  t.match(
    (await sendBytes(under.gateway.url, get('SOURCE /pub/x ICE/1.0'))).statuses,
    [405],
    'SOURCE is a method that no policy can name',
  )
  t.same(upstream.requests, [])
})

// A letter, a digit, a delimiter of each kind, and bytes that parsers interpret differently.
const BYTES = '\0\t\n\v\r !"#%+,:;=?@0A_af\x7f\x80'

t.test('accepts a request with one changed byte only if RFC 9112 or the list permits it', async (t) => {
  const { under, upstream } = await startBoth(t)
  const rows = [
    ...edits('GET /pub/x HTTP/1.1\r\n').map((line) => `${line}${HEADERS}\r\n`),
    ...edits('A: b\r\n\r\n').map((lines) => `GET /pub/x HTTP/1.1\r\n${HEADERS}${lines}`),
    ...edits('5\r\nhello\r\n0;a\r\n\r\n').map(post),
  ]
  let accepted = 0
  const unexpected: string[] = []
  const next = rows.values()
  const send = async (): Promise<void> => {
    for (const bytes of next) {
      // The NUL bytes make each incomplete request invalid, because framing never contains NUL bytes.
      const { statuses } = await sendBytes(under.gateway.url, bytes + '\0'.repeat(512))
      if (statuses[0] !== 200) continue
      accepted += 1
      const reading = readRequest(toPlain(bytes))
      if (reading === undefined || 'problem' in reading) unexpected.push(JSON.stringify(bytes))
    }
  }
  await Promise.all(Array.from({ length: 16 }, send))
  t.same(unexpected, [])
  t.ok(accepted > 100 && accepted < rows.length / 2, `${accepted} of ${rows.length} are accepted`)
  t.same(upstream.problems, [], 'every request that was forwarded is well-formed')
})

/** Returns every insertion, replacement and deletion of one byte. */
function edits(text: string): readonly string[] {
  const found = new Set<string>()
  for (let at = 0; at <= text.length; at++) {
    const [before, after] = [text.slice(0, at), text.slice(at)]
    found.add(before + after.slice(1))
    for (const byte of BYTES) found.add(before + byte + after).add(before + byte + after.slice(1))
  }
  return [...found]
}

/** Converts an accepted form to the plain request. HTTP/1.0 has the same grammar as HTTP/1.1. */
function toPlain(bytes: string): string {
  return bytes
    .replace(/^[\r\n]+/, '')
    .replace(/^([A-Z]+) +([^ ]+) +HTTP\/1\.[01]\r\n/, '$1 $2 HTTP/1.1\r\n')
    .replace(/^([0-9a-f]+)(?:;[^\r\n]+)\r\n/gim, '$1\r\n')
}

function withoutId(request: StrictRequest | undefined): StrictRequest | undefined {
  return request && { ...request, headers: request.headers.filter(([name]) => name !== 'x-request-id') }
}
