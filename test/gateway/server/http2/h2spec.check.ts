import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startTlsGateway } from '../../../fixtures/a-tls-gateway.ts'

const TESTS = 146
/** Time for each response. A test that fails waits for this time. Seconds. */
const TIMEOUT_SECONDS = '5'
const TEST_CASE = /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>(?!<\/testcase>)/g

/**
 * Tests of RFC 7540 that an HTTP/2 server of Node.js without own code fails too, and the reason. The gateway cannot change
 * the result: nghttp2 or Node.js handles these frames without an event, and `node:http2` has no option for them. Verified
 * with Node.js 24.21.0, nghttp2 1.70.0, also with `maxSessionInvalidFrames: 0`.
 */
const KNOWN: readonly [test: string, reason: string][] = [
  ...[
    'closed: Sends a DATA frame after sending RST_STREAM frame',
    'closed: Sends a HEADERS frame after sending RST_STREAM frame',
    'closed: Sends a DATA frame',
    'closed: Sends a HEADERS frame',
  ].map((name): [string, string] => [`http2/5.1 ${name}`, 'nghttp2 ignores frames of closed streams']),
  [
    'http2/5.1.1 Sends stream identifier that is numerically smaller than previous',
    'for nghttp2, the stream is closed',
  ],
  ['http2/5.3.1 Sends PRIORITY frame that depend on itself', 'RFC 9113 has no priorities'],
  [
    'http2/6.3 Sends a PRIORITY frame with 0x0 stream identifier',
    'nghttp2 ignores PRIORITY frames, also the invalid ones of RFC 9113 section 6.3',
  ],
  ['http2/6.7 Sends a PING frame with ACK', 'Node.js closes the connection after an unexpected ACK'],
  [
    'http2/6.9.1 Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream',
    'nghttp2 closes the connection, which RFC 9113 section 5.4.1 allows',
  ],
]

// `npm run h2spec` builds h2spec, and sets SCOPEGATE_H2SPEC.
t.test('the gateway passes h2spec', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const report = join(t.testdir({}), 'report.xml')
  const { port } = new URL(under.gateway.url)
  const args = ['-h', '127.0.0.1', '-p', port, '-t', '-k', '--strict', '-P', '/pub/x']
  const h2spec = spawn(process.env['SCOPEGATE_H2SPEC'] ?? 'h2spec', [
    ...args,
    ...['-o', TIMEOUT_SECONDS, '-j', report],
  ])
  let output = ''
  h2spec.stdout.on('data', (chunk) => {
    output += chunk
  })
  await once(h2spec, 'close')
  const summary = /(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed/.exec(output)
  t.equal(Number(summary?.[1]), TESTS, output.slice(-200))
  const failed = [...readFileSync(report, 'utf8').matchAll(TEST_CASE)].map(
    ([, section, name]) => `${section} ${name}`,
  )
  t.same(failed.sort(), KNOWN.map(([known]) => known).sort())
  t.comment(summary?.[0])
})
