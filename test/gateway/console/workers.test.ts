import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../../bench/cleanup.ts'
import { childrenOf, whenServing } from '../../../bench/soak/roll-workers.ts'
import { startBodyUpstream } from '../../../bench/soak/start-body-upstream.ts'
import { startSoakGateway } from '../../../bench/soak/start-soak-gateway.ts'
import { startJwtIssuer } from '../../fixtures/a-jwt-issuer.ts'
import { send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

t.test(
  'the console shows decisions and keys of all workers, and explains and tests with the policies of a worker',
  async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const issuer = await startJwtIssuer()
    t.teardown(issuer.close)
    const policies = join(t.testdirName, 'config', 'policies', 'soak.policy.yaml')
    const gateway = await startSoakGateway({
      folder: join(t.testdir({ config: {} }), 'config'),
      cleanup,
      upstream: await startBodyUpstream(cleanup),
      settings: {
        workers: 2,
        issuers: [{ issuer: issuer.issuer, jwt: { algorithms: ['ES256'] } }],
        redis: { url: 'redis://127.0.0.1:1' },
      },
    })
    const { url, managementUrl } = gateway
    /** New connections alternate between the workers. */
    const ask = async (path: string) => {
      const response = await send(`${url}${path}`, { headers: { connection: 'close' } })
      return response.headers.get('x-request-id')
    }
    const isRecorded = async (id: string | null) =>
      (await send(`${managementUrl}/console/decision?id=${id}&format=json`)).text.includes('"status"')
    const list = async () => {
      const { json } = await send(`${managementUrl}/console/decisions?format=json`)
      return (json['decisions'] as { readonly requestId: string }[]).map(({ requestId }) => requestId)
    }

    const denied = [await ask('/nothing/1'), await ask('/nothing/2'), await ask('/nothing/3')]
    t.strictSame(await list(), denied.toReversed())
    t.equal(await isRecorded(denied[0] ?? null), true)
    t.equal(await isRecorded(denied[1] ?? null), true)
    t.equal(await isRecorded(await ask('/pub/x?bytes=2')), false)
    const explained = await send(`${managementUrl}/console/explain?path=/nothing&format=json`)
    t.match(explained.json, { result: { explanation: { decision: 'deny', answer: { status: 404 } } } })
    const routes = await send(`${managementUrl}/console/routes?format=json`)
    t.strictSame(routes.json['tests'], { passed: 0, failed: 0 }, 'the results of a worker')

    const counted = async () => {
      const { json } = await send(`${managementUrl}/?format=json`)
      return (json['lastMinute'] as { readonly requests: number }).requests
    }
    await until('the overview counts the requests of both workers', async () => (await counted()) === 4)

    const { json } = await send(`${managementUrl}/console/issuers?format=json`)
    t.match(json, { issuers: [{ keys: { list: [{ kid: 'key-1', processes: 2 }], processes: 2 } }] })
    appendFileSync(policies, '\n')
    await send(`${managementUrl}/reload`, { method: 'POST' })
    await until('the overview shows the reload, and the workers without Redis', async () => {
      const { policies, redis } = (await send(`${managementUrl}/?format=json`)).json as {
        readonly policies: { readonly reloads: { readonly success: number } }
        readonly redis: { readonly problems: readonly string[] }
      }
      return policies.reloads.success === 1 && redis.problems[0]?.startsWith('2 of 2 workers: no connection')
    })

    const stop = new AbortController()
    await fetch(`${managementUrl}/console/decisions?format=events`, {
      headers: { accept: 'text/event-stream' },
      signal: stop.signal,
    })
    const areRecorded = async () => {
      const ids = [await ask('/pub/x?bytes=2'), await ask('/pub/x?bytes=2')]
      return (await Promise.all(ids.map(isRecorded))).every(Boolean)
    }
    await until('both workers record allowed requests', areRecorded)
    const [victim = 0] = childrenOf(gateway.process.pid)
    process.kill(victim, 'SIGKILL')
    await whenServing(gateway, { without: [victim], workers: 2 })
    await until('the new worker records allowed requests', areRecorded)
    stop.abort()
  },
)
