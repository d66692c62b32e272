import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { startTlsGateway } from '../../../fixtures/a-tls-gateway.ts'

const SUMMARY = '146 tests, 146 passed, 0 skipped, 0 failed'
/** Time limit of each response. Only a busy machine needs more than milliseconds. Seconds. */
const TIMEOUT_SECONDS = '5'

// `npm run h2spec` builds h2spec, and sets SCOPEGATE_H2SPEC.
t.test('the gateway passes h2spec', async (t) => {
  const under = await startTlsGateway(t, { http2: true })
  const { port } = new URL(under.gateway.url)
  const args = ['-h', '127.0.0.1', '-p', port, '-t', '-k', '--strict', '-P', '/pub/x', '-o', TIMEOUT_SECONDS]
  const h2spec = spawn(process.env['SCOPEGATE_H2SPEC'] ?? 'h2spec', args)
  const [output] = await Promise.all([text(h2spec.stdout), once(h2spec, 'close')])
  const [summary] = /\d+ tests, .*/.exec(output) ?? []
  t.equal(summary, SUMMARY, output.slice(output.indexOf('Failures:')))
})
