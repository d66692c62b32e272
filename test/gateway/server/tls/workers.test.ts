import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { type ConnectionOptions, connect } from 'node:tls'
import t from 'tap'
import { createCleanup } from '../../../../bench/cleanup.ts'
import { rollWorkers } from '../../../../bench/soak/roll-workers.ts'
import { startBodyUpstream } from '../../../../bench/soak/start-body-upstream.ts'
import { startSoakGateway } from '../../../../bench/soak/start-soak-gateway.ts'
import { aCertificate } from '../../../fixtures/a-certificate.ts'
import {
  END_STREAM,
  FRAME,
  headersFrame,
  openFrameClient,
  pseudoHeaders,
} from '../../../fixtures/http2-frames.ts'
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
        tls: { http2: true, certFile: secret.certFile, keyFile: secret.keyFile },
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
    let connections = 0
    const http2Load = Promise.all(
      [1, 2].map(async () => {
        for (; running; connections += 1) {
          const lost = await useConnection(address, () => running).catch((error) => [error])
          failed.push(...lost)
        }
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
    await Promise.all([load, http2Load])
    t.ok(connections > 2, 'GOAWAY moved the clients of HTTP/2 to other connections')
    t.same(failed, [], `${answered} answered`)
    const scrape = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    const [, expiry] = /^scopegate_tls_certificate_expiry_seconds (\d+)$/m.exec(scrape) ?? []
    t.ok(Math.abs(Number(expiry) - Date.now() / 1_000 - 86_400) < 600, 'one certificate, not the sum of two')
    t.match(scrape, /^scopegate_tls_certificate_reloads_total\{result="success"\} 2$/m)
  },
)

/** STATUS 200 in the static table: RFC 7541 appendix A. */
const STATUS_200 = 0x88

/**
 * Sends requests in sequence on one HTTP/2 connection, until GOAWAY or the end of the load. Sends one further request
 * after GOAWAY, because a request can be in transit at this time.
 * @returns the requests without the complete response that the client may not repeat: RFC 9113 section 6.8.
 */
async function useConnection(address: ConnectionOptions, isRunning: () => boolean): Promise<string[]> {
  const socket = connect({ ...address, ALPNProtocols: ['h2'] })
  await once(socket, 'secureConnect')
  socket.on('error', () => undefined)
  const { frames, write } = await openFrameClient({ shake: async () => socket })
  const lastStream = () => frames.find(({ type }) => type === FRAME.GOAWAY)?.payload.readUInt32BE(0)
  const isComplete = (id: number): boolean => {
    const [head, ...body] = frames.filter(({ streamId }) => streamId === id)
    return head?.payload[0] === STATUS_200 && ((body.at(-1)?.flags ?? 0) & END_STREAM) !== 0
  }
  const sent: number[] = []
  const send = (): number => {
    const id = 2 * sent.length + 1
    sent.push(id)
    write(headersFrame(id, pseudoHeaders('/pub/x?bytes=2')))
    return id
  }
  while (isRunning() && lastStream() === undefined && !socket.destroyed) {
    const id = send()
    await until(
      'a response of HTTP/2 or GOAWAY',
      async () => isComplete(id) || lastStream() !== undefined || socket.destroyed,
    )
  }
  if (lastStream() !== undefined) send()
  const pending = () => sent.filter((id) => id <= (lastStream() ?? Infinity) && !isComplete(id))
  await until('all responses of HTTP/2', async () => pending().length === 0 || socket.destroyed)
  socket.destroy()
  return pending().map((id) => `stream ${id} of ${sent.length}, GOAWAY ${lastStream()}`)
}
