import t from 'tap'
import { startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { OK_REPLY } from '../fixtures/recording-upstream.ts'
import { until } from '../fixtures/until.ts'

const HOST = 'Host: api.test\r\n'
const FIRST = `PUT /pub/1 HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\na`
const SECOND = `PUT /pub/2 HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nb`
const LAST = `PUT /pub/3 HTTP/1.1\r\n${HOST}Connection: close\r\nContent-Length: 1\r\n\r\nc`
const REJECTED = `GET /nothing HTTP/1.1\r\n${HOST}\r\n`
const BEHIND = `GET /pub/behind HTTP/1.1\r\n${HOST}\r\n`
const HALF = `PUT /pub/half HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\nhalf`

// Before the fix, the parser immediately reported invalid bytes at the end, and the gateway closed the connection after
// the current response. The gateway neither forwarded the complete requests before these bytes nor sent responses for
// them. RFC 9112 section 9.6: the request with the close option is the last request.
const CASES: readonly (readonly [
  what: string,
  bytes: string,
  statuses: string,
  forwarded: readonly string[],
])[] = [
  ['after the last request', FIRST + LAST + BEHIND, '200 200', ['/pub/1', '/pub/3']],
  ['of an incomplete request after the last request', FIRST + LAST + HALF, '200 200', ['/pub/1', '/pub/3']],
  [
    'after the last of three requests',
    FIRST + SECOND + LAST + BEHIND,
    '200 200 200',
    ['/pub/1', '/pub/2', '/pub/3'],
  ],
  [
    'that are not HTTP after two requests',
    `${FIRST}${SECOND}this is not HTTP\r\n\r\n`,
    '200 200',
    ['/pub/1', '/pub/2'],
  ],
  ['after a request with a local reply', REJECTED + LAST + BEHIND, '404 200', ['/pub/3']],
  [
    'in the incomplete body of the last request',
    `${FIRST}${SECOND}PUT /pub/3 HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nnone\r\n`,
    '200 200',
    ['/pub/1', '/pub/2'],
  ],
]

for (const [what, bytes, statuses, forwarded] of CASES)
  t.test(`responds to each complete request, and ignores bytes ${what}`, async (t) => {
    const under = await startGatewayUnderTest(t)
    let waiting: (() => void) | undefined
    under.upstream.reply((socket) => {
      waiting = () => socket.write(OK_REPLY)
    })
    const answer = under.raw(bytes)
    for (const target of forwarded) {
      await until(`${target} is forwarded`, async () => under.upstream.requests.at(-1)?.target === target)
      waiting?.()
    }
    t.equal([...(await answer).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code).join(' '), statuses)
    t.same(
      under.upstream.requests.map(({ target }) => target),
      forwarded,
    )
    t.notMatch(under.logText(), /request_failed/)
  })
