// npm run soak:lossy: 10,000 POSTs through a gateway. The connections to the upstream lose 5 % of all packets, in both
// directions. Limit: the upstream executes no POST twice. Requires Linux, root, `unshare`, `ip` and `iptables`, because
// the test runs in a separate network.
import { execFileSync, spawnSync } from 'node:child_process'
import { BenchError } from '../bench-error.ts'
import { measurePostsOnce } from './posts-once.ts'
import { runSoak } from './run-soak.ts'
import { startCountingUpstream } from './start-counting-upstream.ts'
import { startSoakGateway } from './start-soak-gateway.ts'

const CALLS = 10_000
const CONCURRENCY = 100
const LOSS = '0.05'
const INSIDE = 'SCOPEGATE_SOAK_NETWORK'

if (process.env[INSIDE] === undefined) {
  const { status } = spawnSync('unshare', ['--net', process.execPath, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: 'own' },
  })
  process.exitCode = status ?? 1
  if (status === null) console.error('soak:lossy needs `unshare` (util-linux)')
} else
  await runSoak(async ({ folder, cleanup }) => {
    run('ip', 'link', 'set', 'lo', 'up')
    const upstream = await startCountingUpstream(cleanup)
    const gateway = await startSoakGateway({
      folder,
      cleanup,
      upstream: upstream.url,
      route: { retries: { attempts: 3, on: ['connect', 'reset', 503] } },
    })
    for (const end of ['--dport', '--sport']) lose(end, upstream.port)
    const rows = await measurePostsOnce({
      url: gateway.url,
      upstream,
      calls: CALLS,
      concurrency: CONCURRENCY,
    })
    const lost = execFileSync('iptables', ['-L', 'INPUT', '-v', '-n', '-x'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes('DROP'))
      .reduce((sum, line) => sum + Number(line.trim().split(/\s+/)[0]), 0)
    return [{ what: 'packets lost', measured: String(lost), limit: '> 0', passed: lost > 0 }, ...rows]
  })

function lose(end: string, port: number): void {
  const statistic = ['-m', 'statistic', '--mode', 'random', '--probability', LOSS]
  run('iptables', '-A', 'INPUT', '-p', 'tcp', end, String(port), ...statistic, '-j', 'DROP')
}

function run(program: string, ...args: readonly string[]): void {
  try {
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    throw new BenchError('ERR_BENCH_START', `${program} lacks a required feature: ${error}`)
  }
}
