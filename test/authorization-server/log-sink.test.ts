import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { sumSamples } from '../../bench/product/sum-samples.ts'
import { type BenchProcess, startProcess, whenReady } from '../../bench/start-process.ts'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { findPackageRoot } from '../../platform/process/package-root.ts'
import { aFifo } from '../fixtures/a-fifo.ts'
import { until } from '../fixtures/until.ts'

async function start(
  t: Test,
  stdout: number,
): Promise<{ process: BenchProcess; url: string; managementUrl: string }> {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const dataDir = t.testdir()
  const started = startProcess({
    name: 'authorization server',
    command: [process.execPath, join(findPackageRoot(), 'authorization-server', 'main.ts')],
    cores: undefined,
    cleanup,
    stdout,
    env: {
      SCOPEGATE_DATA_DIR: dataDir,
      SCOPEGATE_GATEWAY_CLIENT__SECRET_FILE: join(dataDir, 'gateway-client-secret'),
      SCOPEGATE_DEVELOPMENT: 'true',
      SCOPEGATE_LISTEN__PORT: '0',
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
    },
  })
  const { url, managementUrl } = await whenReady(started)
  return { process: started, url: String(url), managementUrl: String(managementUrl) }
}

/** Registers a client, so that the server logs two lines: the audit line and the access line. */
async function register(t: Test, url: string): Promise<void> {
  const answer = await fetch(url + ENDPOINTS.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'a client', redirect_uris: ['http://127.0.0.1:1/callback'] }),
  })
  t.equal(answer.status, 201, await answer.text())
}

const dropped = async (managementUrl: string): Promise<number> =>
  sumSamples(await (await fetch(`${managementUrl}/metrics`)).text(), 'scopegate_log_lines_dropped_total')

t.test(
  'with a full log disk, the server counts every dropped line and responds to all requests',
  async (t) => {
    const full = openSync('/dev/full', 'w')
    const server = await start(t, full)
    closeSync(full)
    const atStart = await until(
      'the metric counts the first dropped lines',
      async () => (await dropped(server.managementUrl)) || undefined,
    )
    await register(t, server.url)
    await until(
      'both dropped lines are counted',
      async () => (await dropped(server.managementUrl)) === atStart + 2,
    )
    server.process.child.kill('SIGTERM')
    await server.process.ended
    t.equal(server.process.child.exitCode, 0)
  },
)

t.test('without a log reader, the server counts the dropped lines', async (t) => {
  const pipe = aFifo(t)
  const server = await start(t, pipe.writer)
  pipe.handOver()
  const read = pipe.read()
  await until('the first lines arrived', async () => read().includes('"listening"'))
  pipe.leave()
  await register(t, server.url)
  await until('both dropped lines are counted', async () => (await dropped(server.managementUrl)) === 2)
  t.equal(server.process.child.exitCode, null)
})
