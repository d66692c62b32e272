import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createCleanup } from '../../bench/cleanup.ts'
import { policyMap, sourcePolicy, startSourceGateways } from '../../bench/soak/start-source-gateways.ts'
import { startRecordingUpstream } from '../fixtures/recording-upstream.ts'
import { send } from '../fixtures/send.ts'
import { until } from '../fixtures/until.ts'

const SOURCES = 50
const KEY = 'team.policy.yaml'
/** Less than the interval of the regular checks (30 s). Without a watch, a change directly after a check would take longer. */
const WATCH_LIMIT_MS = 20_000

/** One fault for each of the first sources, and the code of its error. The changes occur in a mounted volume. */
const FAULTS: readonly (readonly [
  name: string,
  code: RegExp,
  change: (source: {
    name: string
    folder: string
    volume: { swap(files: Record<string, string>): void }
  }) => void,
])[] = [
  ['a broken file', /error\[P014\]/, ({ volume }) => volume.swap({ [KEY]: 'routes: [' })],
  ['an empty ConfigMap', /error\[P005\]/, ({ volume }) => volume.swap({})],
  [
    'one route in two files',
    /error\[P301\]/,
    ({ name, volume }) =>
      volume.swap({
        [KEY]: sourcePolicy(`/${name}/v0`),
        'other.policy.yaml': sourcePolicy(`/${name}/v0`).replace('"team"', '"other"'),
      }),
  ],
  [
    'the route of another source',
    /error\[P401\]/,
    ({ volume }) => volume.swap({ [KEY]: sourcePolicy('/team-49/v0') }),
  ],
  [
    'a loop of symbolic links',
    /error\[P001\]/,
    ({ folder }) => symlinkSync('loop.policy.yaml', join(folder, 'loop.policy.yaml')),
  ],
  [
    'a file of 10 MiB',
    /error\[P003\]/,
    ({ name, volume }) =>
      volume.swap({ [KEY]: `${sourcePolicy(`/${name}/v0`)}${' '.repeat(10 * 1_024 * 1_024)}` }),
  ],
  // The last fault, because the gateway then checks all folders each second.
  ['a missing folder', /error\[P001\]/, ({ folder }) => rmSync(folder, { recursive: true })],
]

t.test('a fault in the volume of one policy source has no effect on 49 other sources', async (t) => {
  const cleanup = createCleanup()
  t.teardown(() => cleanup.run())
  const upstream = await startRecordingUpstream()
  cleanup.add(upstream.close)
  const folder = t.testdir()
  const [gateway] = await startSourceGateways({
    ...{ folder, cleanup, upstream: upstream.url, replicas: 1, sources: SOURCES },
  })
  if (gateway === undefined) throw new Error('no gateway')
  const { url, managementUrl, sources } = gateway
  const statuses = async (last = 0): Promise<ReadonlySet<number>> =>
    new Set(
      await Promise.all(
        sources.map(async ({ name }, at) => {
          const version = at === SOURCES - 1 ? last : 0
          return (await send(`${url}/${name}/v${version}`)).status
        }),
      ),
    )
  const management = async (path: string): Promise<string> => (await send(`${managementUrl}${path}`)).text
  t.same(await statuses(), new Set([200]), 'all ConfigMaps have the same key')

  for (const [at, [fault, code, change]] of FAULTS.entries()) {
    const source = sources[at]
    if (source === undefined) throw new Error(`no source for ${fault}`)
    change(source)
    const findLine = async () =>
      (await management('/readyz?verbose'))
        .split('\n')
        .find((one) => one.startsWith(`[!] policy source ${source.name}:`))
    const line = await until(fault, findLine, WATCH_LIMIT_MS)
    t.match(line, code, fault)
    t.match(await management('/metrics'), `scopegate_policy_source_valid{source="${source.name}"} 0`, fault)
    t.same(await statuses(), new Set([200]), `${fault}: the last valid version stays active`)
  }
  const last = sources.at(-1)
  last?.volume.swap(policyMap(last.name, 1))
  await until(
    'a valid change becomes active beside the faults',
    async () => (await send(`${url}/team-${SOURCES - 1}/v1`)).status === 200,
    WATCH_LIMIT_MS,
  )
  t.same(await statuses(1), new Set([200]))
  t.equal(
    (await management('/metrics')).match(/^scopegate_policy_source_valid\{.*\} 0$/gm)?.length,
    FAULTS.length,
    'the metric of the alert ScopegatePolicySourceInvalid',
  )
  sources[0]?.volume.swap(policyMap('team-0', 0))
  await until('a corrected source is valid', async () =>
    (await management('/metrics')).includes('scopegate_policy_source_valid{source="team-0"} 1'),
  )
})
