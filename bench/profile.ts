// Shows which parts of the gateway use its CPU time. The load is the load of the row `cached token` of
// docs/benchmarks.md. With --first-use, each request has a new JWT. With --sample-ratio, the gateway sends a share of
// its traces to a receiver. Usage: node bench/profile.ts [--first-use | --sample-ratio RATIO] [--keep FILE.cpuprofile]
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startLoad } from './load/start-load.ts'
import { measureRound } from './measure-round.ts'
import { pinCores } from './pin-cores.ts'
import { printProgress } from './print-progress.ts'
import { startGatewaySubject } from './product/start-gateway-subject.ts'
import { startJwtSubjects } from './product/start-jwt-subjects.ts'
import { startSpanReceiver, tracingSettings } from './product/start-span-receiver.ts'
import { formatProfile } from './profile/format-profile.ts'
import { type CpuProfile, readSelfTimes } from './profile/read-self-times.ts'
import { runProgram } from './run-program.ts'
import { cpuPerRequest } from './sample.ts'
import { startUpstream } from './upstream/start-upstream.ts'

const WARM_UP_SECONDS = 4
const SECONDS = 10

await runProgram(async ({ cleanup, folder }) => {
  const {
    keep,
    'first-use': isFirstUse,
    'sample-ratio': sampleRatio,
  } = parseArgs({
    options: {
      keep: { type: 'string' },
      'first-use': { type: 'boolean' },
      'sample-ratio': { type: 'string' },
    },
  }).values
  const cores = pinCores()
  const profiles = join(folder, 'profiles')
  mkdirSync(profiles)
  printProgress('starting the gateway with --cpu-prof …')
  const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
  const load = await startLoad({ cores: cores?.others, folder, cleanup })
  const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const settings =
    sampleRatio === undefined
      ? {}
      : tracingSettings((await startSpanReceiver(cleanup)).url, Number(sampleRatio))
  const product = { cores, folder, cleanup, upstream: upstream.url, nodeOptions, settings }
  const gateway =
    isFirstUse === true
      ? (await startJwtSubjects(product)).firstEs256
      : await startGatewaySubject({ ...product, name: 'gateway' })
  await measureRound(gateway, load, WARM_UP_SECONDS)
  printProgress(`measuring for ${SECONDS} s …`)
  const from = monotonicMicros()
  const sample = await measureRound(gateway, load, SECONDS)
  const to = monotonicMicros()
  await gateway.process.stop() // the gateway writes the profile when it exits

  const [name = ''] = readdirSync(profiles)
  const file = join(profiles, name)
  if (keep !== undefined) copyFileSync(file, keep)
  const profile: CpuProfile = JSON.parse(readFileSync(file, 'utf8'))
  printProgress(
    `${cpuPerRequest(sample).toFixed(1)} µs CPU per request with the profiler, ${sample.requests} requests; ${load.name}; ${upstream.name}\n`,
  )
  process.stdout.write(`${formatProfile(readSelfTimes(profile, from, to), sample.requests)}\n`)
})

/** V8 profiles also use the monotonic clock. */
function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n)
}
