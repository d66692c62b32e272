// npm run soak:redis: two gateways on one Redis and one gateway without Redis, under steady traffic of valid and
// invalid tokens. In the phases, Redis is up, stopped, frozen or flapping. Prints the wrong responses of each phase,
// and the number of connections to Redis. Also prints the additional delay in comparison with the gateway without
// Redis.
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { type FaultProxy, startFaultProxy } from '../../test/fixtures/fault-proxy.ts'
import { startRedis } from '../../test/fixtures/start-redis.ts'
import { until } from '../../test/fixtures/until.ts'
import { sumSamples } from '../product/sum-samples.ts'
import { startUpstream } from '../upstream/start-upstream.ts'
import { measuredAdded, measuredUses, usesWithin } from './check-token-uses.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import {
  BAD_STREAM,
  makeStreams,
  REVOKED_STREAM,
  startTrafficGateway,
  startTrafficIssuers,
} from './redis-traffic.ts'
import { runSoak } from './run-soak.ts'
import type { SoakGateway } from './start-soak-gateway.ts'
import { startTokenTraffic, type TokenUse } from './token-traffic.ts'

const GATEWAYS = 2
const PER_SECOND = 630
const WARM_UP_MS = 5_000
const UP_MS = 15_000
const FAULT_MS = 20_000
const FLAP_MS = 2_000
const REVOKED_IN_A_PHASE = 5
/** Number of tokens in a stream that uses each token once, large enough for the longest test. */
const NEW_TOKENS = 15_000
/** Maximum added delay at the 99th percentile for the faults F6 and F7 (docs/faults.md). The fault F8 has no limit. */
const ADDED_MS = 5
const ADDED_AT_FIRST_MS = 100
const AT_FIRST_MS = 1_000
const CONNECTS_PER_SECOND = 1
const RECOVERY_LIMIT_MS = 30_000

const UP = 'Redis up'
const FROZEN = 'Redis frozen'
const FLAPPING = 'Redis flapping'

type Phase = {
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
  readonly connects: number
}

type Side = { readonly gateway: SoakGateway; readonly logFile: string }

await runSoak(async ({ folder, cleanup }) => {
  let redis = await startRedis({ folder })
  cleanup.add(() => redis.stop())
  const restart = async (): Promise<void> => {
    redis = await startRedis({ folder, port: redis.port })
  }
  const upstream = await startUpstream({ cores: undefined, folder, cleanup })
  const issuers = await startTrafficIssuers(cleanup)
  const startGateway = async (name: string, redisUrl: string | undefined): Promise<Side> => {
    const own = join(folder, name)
    mkdirSync(own)
    const logFile = join(own, 'gateway.log')
    const stdout = openSync(logFile, 'a')
    const gateway = await startTrafficGateway({
      folder: own,
      cleanup,
      upstream: upstream.url,
      issuers,
      redisUrl,
      stdout,
    })
    return { gateway, logFile }
  }
  const ways: FaultProxy[] = []
  const sides: Side[] = []
  for (let index = 0; index < GATEWAYS; index++) {
    const way = await startFaultProxy(redis.port)
    cleanup.add(() => way.close())
    ways.push(way)
    sides.push(await startGateway(`gateway-${index}`, `redis://127.0.0.1:${way.port}`))
  }
  const control = await startGateway('control', undefined)
  const streams = makeStreams(
    issuers,
    [...sides, control].map(({ gateway }) => gateway),
    NEW_TOKENS,
  )
  const traffic = startTokenTraffic({ streams, perSecond: PER_SECOND })
  const revocable = streams.find(({ name }) => name === REVOKED_STREAM)?.tokens ?? []
  const revokedAtMs = new Map<string, number>()
  const phases: Phase[] = []

  /** Ends the phase when `lasting` resolves. Revokes some tokens during the phase. */
  async function phase(name: string, lasting: () => Promise<unknown>): Promise<void> {
    const before = ways.map(({ connections }) => connections)
    const fromMs = Date.now()
    const running = lasting()
    await wait(UP_MS / 2)
    for (const token of revocable.slice(revokedAtMs.size, revokedAtMs.size + REVOKED_IN_A_PHASE)) {
      issuers.opaque.revoke(token)
      revokedAtMs.set(token, Date.now())
    }
    await running
    const connects = Math.max(...ways.map(({ connections }, index) => connections - (before[index] ?? 0)))
    phases.push({ name, fromMs, toMs: Date.now(), connects })
    console.log(name)
  }

  /** @returns the time until every gateway uses Redis again. Milliseconds. */
  async function recovery(): Promise<number> {
    const startedMs = performance.now()
    for (const { gateway } of sides) {
      const asked = async (): Promise<number> => {
        const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
        return sumSamples(
          metrics
            .split('\n')
            .filter((line) => /result="(hit|miss)"/.test(line))
            .join('\n'),
          'scopegate_token_shared_cache_total',
        )
      }
      const before = await asked()
      await until('Redis is used again', async () => (await asked()) > before, RECOVERY_LIMIT_MS)
    }
    return performance.now() - startedMs
  }

  await wait(WARM_UP_MS)
  const up = (): Promise<void> => phase(UP, () => wait(UP_MS))
  await up()

  await redis.stop()
  await phase('Redis stopped', () => wait(FAULT_MS))
  await restart()
  const recoveries = [{ after: 'it was stopped', ms: await recovery() }]
  await up()

  const spy = new Redis(redis.url)
  await spy.client('PAUSE', FAULT_MS)
  await phase(FROZEN, () => wait(FAULT_MS))
  spy.disconnect()
  recoveries.push({ after: 'it was frozen', ms: await recovery() })
  await up()

  await phase(FLAPPING, async () => {
    for (let elapsedMs = 0; elapsedMs < FAULT_MS; elapsedMs += 2 * FLAP_MS) {
      await redis.stop()
      await wait(FLAP_MS)
      await restart()
      await wait(FLAP_MS)
    }
  })
  recoveries.push({ after: 'it flapped', ms: await recovery() })

  const uses = await traffic.stop()
  const rules = { bad: new Set([BAD_STREAM]), revokedAtMs }
  const isControl = ({ url }: TokenUse): boolean => url.startsWith(control.gateway.url)
  const rows = phases.flatMap(({ name, fromMs, toMs, connects }): readonly Measurement[] => {
    const own = usesWithin(uses, fromMs, toMs)
    const answered = measuredUses(name, own, rules)
    if (name === UP) return [...answered, ...measuredAdded(name, own, { isControl, limitMs: undefined })]
    const isFrozen = name === FROZEN
    const atFirst = isFrozen ? usesWithin(uses, fromMs, fromMs + AT_FIRST_MS) : []
    const rest = isFrozen ? usesWithin(uses, fromMs + AT_FIRST_MS, toMs) : own
    const perSecond = connects / ((toMs - fromMs) / 1_000)
    return [
      ...answered,
      ...measuredAdded(`${name}, the first second`, atFirst, { isControl, limitMs: ADDED_AT_FIRST_MS }),
      ...measuredAdded(name, rest, { isControl, limitMs: name === FLAPPING ? undefined : ADDED_MS }),
      {
        what: `${name}: connections to Redis per second and gateway`,
        measured: perSecond.toFixed(2),
        limit: `<= ${CONNECTS_PER_SECOND}`,
        passed: perSecond <= CONNECTS_PER_SECOND,
      },
    ]
  })
  rows.push(
    ...recoveries.map(({ after, ms }) => ({
      what: `Redis is used again after ${after}`,
      measured: `${(ms / 1_000).toFixed(1)} s`,
      limit: 'none',
      passed: undefined,
    })),
  )
  let uncaught = 0
  for (const { gateway, logFile } of [...sides, control]) {
    const metrics = await (await fetch(`${gateway.managementUrl}/metrics`)).text()
    const logged = readFileSync(logFile, 'utf8').match(/uncaught_exception|unhandled/gi) ?? []
    uncaught += Math.max(sumSamples(metrics, 'scopegate_uncaught_total'), logged.length)
  }
  rows.push(measuredCount('unhandled rejections and exceptions', uncaught, 0))
  return rows
})
