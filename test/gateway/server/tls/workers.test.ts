import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { createCleanup } from '../../../../bench/cleanup.ts'
import { rollWorkers } from '../../../../bench/soak/roll-workers.ts'
import { startBodyUpstream } from '../../../../bench/soak/start-body-upstream.ts'
import { startSoakGateway } from '../../../../bench/soak/start-soak-gateway.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import { mountSecret } from '../../../fixtures/mounted-secret.ts'
import { until } from '../../../fixtures/until.ts'

t.test(
  'every worker uses a changed certificate, and no request fails during certificate and worker changes',
  async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const folder = t.testdir({ config: {}, secret: {} })
    const authority = aCertificate({ authority: true })
    const secret = mountSecret(join(folder, 'secret'), aCertificate({ by: authority }))
    const gateway = await startSoakGateway({
      folder: join(folder, 'config'),
      cleanup,
      upstream: await startBodyUpstream(cleanup),
      settings: {
        workers: 2,
        baseUrl: 'https://127.0.0.1',
        tls: { certFile: secret.certFile, keyFile: secret.keyFile },
      },
    })
    t.match(gateway.url, /^https:/)
    const address = { host: '127.0.0.1', port: Number(new URL(gateway.url).port), ca: authority.cert }
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const get = async (keepAlive: boolean): Promise<number> => {
      const outgoing = request({ ...address, path: '/pub/x?bytes=2', agent: keepAlive ? agent : false }).end()
      const [response] = await once(outgoing, 'response')
      response.resume()
      await once(response, 'end')
      return response.statusCode
    }
    /** Performs enough TLS handshakes to reach both workers. Returns the fingerprints of their certificates. */
    const fingerprints = async (): Promise<ReadonlySet<string>> => {
      const seen = new Set<string>()
      for (let time = 0; time < 6; time++) {
        const socket = connect(address)
        await once(socket, 'secureConnect')
        seen.add(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      }
      return seen
    }
    const [before = ''] = await fingerprints()

    let running = true
    let answered = 0
    const failed: unknown[] = []
    const load = Promise.all(
      Array.from({ length: 4 }, async (_, at) => {
        while (running)
          await get(at % 2 === 0).then(
            (status) => (status === 200 ? answered++ : failed.push(status)),
            (error) => failed.push(error),
          )
      }),
    )
    secret.swap(aCertificate({ by: authority }))
    await until(
      'both workers use the new certificate',
      async () => !(await fingerprints()).has(before),
      30_000,
    )
    await rollWorkers(gateway, 'supervisor')
    t.equal((await fingerprints()).size, 1, 'new workers too')
    await until('more requests have a response', async () => answered + failed.length > 100)
    running = false
    await load
    t.same(failed, [], `${answered} answered`)
    const scrape = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    const [, expiry] = /^scopegate_tls_certificate_expiry_seconds (\d+)$/m.exec(scrape) ?? []
    t.ok(Math.abs(Number(expiry) - Date.now() / 1_000 - 86_400) < 600, 'one certificate, not the sum of two')
    t.match(scrape, /^scopegate_tls_certificate_reloads_total\{result="success"\} 2$/m)
  },
)
