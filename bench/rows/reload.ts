import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { type Gateway, startGateway } from '../../gateway/app.ts'
import { readGatewayConfig } from '../../gateway/config/read-gateway-config.ts'
import { createLogger } from '../../platform/logging/logger.ts'
import { BenchError } from '../bench-error.ts'
import type { Row } from '../row.ts'
import { writeSoakConfig } from '../soak/write-soak-config.ts'

const FILES = 20
const ROUTES = 50
const NANOSECONDS_PER_MS = 1_000_000

/** Measures the duration of a policy reload, and the delay of requests during the reload. */
export const reload: Row = {
  name: 'reload',
  run: async ({ folder, cleanup, rounds, printProgress }) => {
    mkdirSync(folder, { recursive: true })
    writeSoakConfig({ folder, upstream: 'http://127.0.0.1:1', settings: { policyReload: 'manual' } })
    writePolicies(folder, 0)
    const { config } = readGatewayConfig({ configDir: folder, env: {} })
    const gateway = await startGateway({
      config,
      logger: createLogger({ level: 'silent', service: 'bench' }),
    })
    cleanup.add(() => gateway.close({ how: 'immediate' }))
    const measured: Reload[] = []
    for (let round = 1; round <= rounds + 1; round++) {
      writePolicies(folder, round)
      measured.push(await reloadOnce(gateway))
    }
    const [first, ...others] = measured
    printProgress(`${rounds + 1} reloads of ${FILES * ROUTES} routes`)
    return {
      title: `Reload of ${FILES * ROUTES} routes in ${FILES} files, after a change of every file`,
      conditions: { gateway: 'in the process of the benchmark, without load' },
      measured: [],
      ratios: [],
      figures: [
        {
          name: 'from the reload to the first request with the new policies',
          unit: 'ms',
          found: others.map(({ tookMs }) => tookMs),
          goal: 200,
        },
        {
          name: 'CPU time of the main thread during the reload',
          unit: 'ms',
          found: others.map(({ cpuMs }) => cpuMs),
          goal: undefined,
        },
        {
          name: 'longest pause of the event loop',
          unit: 'ms',
          found: others.map(({ pauseMs }) => pauseMs),
          goal: 20,
        },
        {
          name: 'the first reload of a process',
          unit: 'ms',
          found: first === undefined ? [] : [first.tookMs],
          goal: undefined,
        },
        {
          name: 'longest pause of the first reload',
          unit: 'ms',
          found: first === undefined ? [] : [first.pauseMs],
          goal: undefined,
        },
      ],
    }
  },
}

type Reload = { readonly tookMs: number; readonly pauseMs: number; readonly cpuMs: number }

/** Measures one reload. Subtracts the interval of the histogram, which is one millisecond. */
async function reloadOnce(gateway: Gateway): Promise<Reload> {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  loop.enable()
  await wait(20)
  loop.reset()
  const startedMs = performance.now()
  const cpu = process.threadCpuUsage()
  const report = await gateway.reload('signal')
  const tookMs = performance.now() - startedMs
  const { user, system } = process.threadCpuUsage(cpu)
  await wait(20)
  loop.disable()
  if (report.result !== 'applied') throw new BenchError('ERR_BENCH_SUBJECT', `a reload was ${report.result}`)
  return { tookMs, cpuMs: (user + system) / 1_000, pauseMs: Math.max(0, loop.max / NANOSECONDS_PER_MS - 1) }
}

function writePolicies(folder: string, version: number): void {
  for (let file = 0; file < FILES; file++) {
    const routes = Array.from(
      { length: ROUTES },
      (_, route) => `  - name: route-${route}
    match: { methods: [GET, POST], path: "/api/family-${file}/thing-${route}/{id}" }
    anonymous: challenge
    scopes: { all: [courses:read] }
`,
    )
    const head = `apiVersion: scopegate/v1\nkind: Policy\nname: family-${file}\nowner: version-${version}\nupstream: api\nroutes:\n`
    writeFileSync(join(folder, 'policies', `family-${file}.policy.yaml`), head + routes.join(''))
  }
}
