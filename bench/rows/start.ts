import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../../platform/net/find-free-port.ts'
import { BenchError } from '../bench-error.ts'
import type { Bench, Row } from '../row.ts'
import { startProcess } from '../start-process.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const COMMAND = fileURLToPath(new URL('../../bin/scopegate.js', import.meta.url))
const PATH = '/api/courses'
const GIVE_UP_MS = 30_000
/** Interval between two requests to a starting gateway. The interval is also the maximum error of the figure. */
const ASK_EVERY_MS = 2

/** Time from the start of the gateway process to its first response from an upstream. */
export const start: Row = {
  name: 'start',
  run: async (bench) => {
    const { cores, folder, cleanup, rounds, printProgress } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
    const secretFile = join(folder, 'gateway-client-secret')
    mkdirSync(folder, { recursive: true })
    writeFileSync(secretFile, randomBytes(32).toString('base64url'), { mode: 0o600 })
    const own = { secretFile, upstream: upstream.url, cache: join(folder, 'cache') }
    // The first run fills the compile cache of Node.js, because users also start the gateway with a filled cache.
    const firstMs = await startOnce(bench, own)
    const found: number[] = []
    for (let round = 1; round <= rounds; round++) {
      const tookMs = await startOnce(bench, own)
      found.push(tookMs)
      printProgress(`round ${round}/${rounds}  ${Math.round(tookMs)} ms`)
    }
    return {
      title: `Start of the gateway to the first 200 (GET ${PATH} without a token)`,
      conditions: {
        upstream: upstream.name,
        sources: 'TypeScript and policies of the checkout',
      },
      measured: [],
      ratios: [],
      figures: [
        { name: 'time to the first 200', unit: 'ms', found, goal: 500 },
        { name: 'first start in the checkout', unit: 'ms', found: [firstMs], goal: undefined },
      ],
    }
  },
}

/** @returns the time to the first response with status 200, in milliseconds. */
async function startOnce(
  { cores, cleanup }: Bench,
  own: { readonly secretFile: string; readonly upstream: string; readonly cache: string },
): Promise<number> {
  const port = await findFreePort('127.0.0.1')
  const startedMs = performance.now()
  const gateway = startProcess({
    name: 'gateway',
    command: [process.execPath, COMMAND, 'gateway'],
    cores: cores?.server,
    cleanup,
    env: {
      XDG_CACHE_HOME: own.cache,
      PORT: String(port),
      SCOPEGATE_MANAGEMENT__PORT: '0',
      SCOPEGATE_DRAIN__DELAY: '0s',
      SCOPEGATE_ISSUERS__0__INTROSPECTION__CLIENT_SECRET_FILE: own.secretFile,
      SCOPEGATE_UPSTREAMS__LEARNING_PLATFORM__URL: own.upstream,
    },
  })
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}${PATH}`).catch(() => undefined)
    await response?.arrayBuffer()
    const tookMs = performance.now() - startedMs
    if (response?.status === 200) {
      await gateway.stop()
      return tookMs
    }
    if (tookMs > GIVE_UP_MS) throw new BenchError('ERR_BENCH_START', 'the gateway does not respond')
    await wait(ASK_EVERY_MS)
  }
}
