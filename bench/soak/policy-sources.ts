// npm run soak:policy-sources: three gateways, each with 50 policy sources in 50 volumes. Replaces the files of one
// ConfigMap as a kubelet does, and measures the time until all gateways serve the new route. Then breaks one
// ConfigMap. Limit: each change under 2 s.
// SOURCE_CHANGES: number of changes, default 60.
import { setTimeout as wait } from 'node:timers/promises'
import { startRecordingUpstream } from '../../test/fixtures/recording-upstream.ts'
import { send } from '../../test/fixtures/send.ts'
import { until } from '../../test/fixtures/until.ts'
import { BenchError } from '../bench-error.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { readPercentile } from './read-percentile.ts'
import { runSoak } from './run-soak.ts'
import { policyMap, type SourceGateway, startSourceGateways } from './start-source-gateways.ts'

const CHANGES = Number(process.env['SOURCE_CHANGES'] ?? 60)
const SOURCES = 50
const REPLICAS = 3
const LIMIT_MS = 2_000
const GIVE_UP_MS = 60_000
const POLL_MS = 10

await runSoak(async ({ folder, cleanup }) => {
  const upstream = await startRecordingUpstream()
  cleanup.add(upstream.close)
  const gateways = await startSourceGateways({
    ...{ folder, cleanup, upstream: upstream.url },
    ...{ replicas: REPLICAS, sources: SOURCES },
  })
  const timesMs: number[] = []
  const versions = new Map<number, number>()
  for (let change = 0; change < CHANGES; change++) {
    const at = change % SOURCES
    const version = (versions.get(at) ?? 0) + 1
    versions.set(at, version)
    timesMs.push(await timeUntilActive(gateways, at, version))
  }
  const broken = SOURCES - 1
  for (const { sources } of gateways) sources[broken]?.volume.swap({ 'team.policy.yaml': 'routes: [' })
  const isInvalid = async ({ managementUrl }: SourceGateway): Promise<boolean> =>
    (await send(`${managementUrl}/metrics`)).text.includes(
      `scopegate_policy_source_valid{source="team-${broken}"} 0`,
    )
  await until('all gateways report the broken source', async () =>
    (await Promise.all(gateways.map(isInvalid))).every(Boolean),
  )
  let available = 0
  for (const { url } of gateways)
    for (let at = 0; at < SOURCES; at++)
      if ((await send(`${url}/team-${at}/v${versions.get(at) ?? 0}`)).status === 200) available += 1
  const within = timesMs.filter((ms) => ms < LIMIT_MS).length
  const time = (label: string, ms: number): Measurement => ({
    what: `${label} until ${REPLICAS} gateways serve the change`,
    ...{ measured: `${ms.toFixed(0)} ms`, limit: 'none', passed: undefined },
  })
  return [
    measuredCount(`changes active under ${LIMIT_MS / 1_000} s`, within, CHANGES),
    time('min', Math.min(...timesMs)),
    time('p50', readPercentile(timesMs, 0.5)),
    time('p90', readPercentile(timesMs, 0.9)),
    time('p99', readPercentile(timesMs, 0.99)),
    time('max', Math.max(...timesMs)),
    measuredCount('routes that respond 200 beside a broken ConfigMap', available, REPLICAS * SOURCES),
  ]
})

/** Replaces one ConfigMap in all replicas, and returns the time until all replicas serve its new route. */
async function timeUntilActive(
  gateways: readonly SourceGateway[],
  at: number,
  version: number,
): Promise<number> {
  const times = gateways.map(async ({ url, sources }) => {
    const source = sources[at]
    if (source === undefined) throw new BenchError('ERR_BENCH_SUBJECT', `no source ${at}`)
    source.volume.swap(policyMap(source.name, version))
    const startedMs = performance.now()
    while ((await send(`${url}/${source.name}/v${version}`)).status !== 200) {
      if (performance.now() - startedMs > GIVE_UP_MS)
        throw new BenchError('ERR_BENCH_SUBJECT', `${source.name} v${version} is not active`)
      await wait(POLL_MS)
    }
    return performance.now() - startedMs
  })
  return Math.max(...(await Promise.all(times)))
}
