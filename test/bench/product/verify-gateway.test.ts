import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { verifyGateway } from '../../../bench/product/verify-gateway.ts'

/** Starts a fake gateway that reports these counts in /metrics. Writes `lines` lines to a log file. */
async function saying(t: Test, counts: { requests: number; hits: number; misses: number; lines: number }) {
  const server = createServer((_request, response) => {
    response.end(
      [
        `scopegate_http_requests_total{route="a"} ${counts.requests}`,
        `scopegate_token_cache_hits_total{kind="jwt"} ${counts.hits}`,
        `scopegate_token_cache_misses_total{kind="jwt"} ${counts.misses}`,
      ].join('\n'),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const logFile = join(t.testdir(), 'access.log')
  writeFileSync(logFile, '{}\n'.repeat(counts.lines))
  const managementUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { verify: verifyGateway({ logFile, managementUrl }), logFile }
}

t.test('verifyGateway() accepts a gateway that handled every request, and empties its log', async (t) => {
  const { verify, logFile } = await saying(t, { requests: 150, hits: 100, misses: 50, lines: 150 })
  await verify(100)
  t.ok(existsSync(logFile))
  t.equal(readFileSync(logFile, 'utf8'), '')
  await verify(50, 'new')
})

t.test('verifyGateway() reports a metric with too few token cache misses', async (t) => {
  const { verify } = await saying(t, { requests: 100, hits: 90, misses: 10, lines: 100 })
  await t.rejects(verify(100, 'new'), {
    code: 'ERR_BENCH_INCOMPLETE',
    message: /10 of 100 scopegate_token_cache_misses_total/,
  })
})

t.test('verifyGateway() reports missing lines of the access log', async (t) => {
  const { verify } = await saying(t, { requests: 100, hits: 100, misses: 0, lines: 10 })
  await t.rejects(verify(100), { code: 'ERR_BENCH_INCOMPLETE', message: /10 of 100 access log lines/ })
})
