import { request } from 'node:http'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { NEVER_OVERLOADED } from '../../bench/soak/never-overloaded.ts'
import { childrenOf } from '../../bench/soak/roll-workers.ts'
import { startBodyUpstream } from '../../bench/soak/start-body-upstream.ts'
import { startSoakGateway } from '../../bench/soak/start-soak-gateway.ts'
import { until } from '../fixtures/until.ts'

const CLIENTS = 8
const ROLLS = 1
const LIMIT_MS = 120_000

// Before the fix, the supervisor sent a connection to a worker that no longer accepted connections. The worker exited,
// and the connection was lost.
t.test(
  'no connection is lost while workers are replaced, with a new connection for each request',
  async (t) => {
    const cleanup = createCleanup()
    t.teardown(() => cleanup.run())
    const gateway = await startSoakGateway({
      folder: t.testdir(),
      cleanup,
      upstream: await startBodyUpstream(cleanup),
      settings: { workers: 2, ...NEVER_OVERLOADED },
      upstreamSettings: { timeout: '60s', connectTimeout: '30s' },
    })
    const outcomes = new Map<string, number>()
    let goesOn = true
    const ask = (): Promise<string> =>
      new Promise((resolve) => {
        const asking = request(`${gateway.url}/pub/x?bytes=2`, { agent: false }, (answer) => {
          answer.resume().once('end', () => resolve(String(answer.statusCode)))
        })
        asking.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message)).end()
      })
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (goesOn) {
        const outcome = await ask()
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    })
    for (let roll = 0; roll < ROLLS; roll++) {
      const before = childrenOf(gateway.process.pid)
      process.kill(gateway.process.pid, 'SIGUSR2')
      const areOthers = async () => {
        const now = childrenOf(gateway.process.pid)
        return now.length === 2 && now.every((pid) => !before.includes(pid))
      }
      await until('both workers are new', areOthers, LIMIT_MS)
    }
    goesOn = false
    await Promise.all(clients)
    t.same([...outcomes.keys()], ['200'], JSON.stringify(Object.fromEntries(outcomes)))
  },
)
