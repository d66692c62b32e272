// npm run soak:memory: large bodies, slow readers, idle connections and slow heads against one gateway process with a
// heap of 256 MiB. Prints each number beside its limit. The exit code is 1 if a number exceeds its limit. Names after
// `--` select parts: bodies, readers, idle, heads.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createCleanup } from '../cleanup.ts'
import { measureBigBodies } from './big-bodies.ts'
import { measureIdleConnections } from './idle-connections.ts'
import type { Measurement } from './measurement.ts'
import { runSoak } from './run-soak.ts'
import { measureSlowHeads } from './slow-heads.ts'
import { measureSlowReaders } from './slow-readers.ts'
import { startBodyUpstream } from './start-body-upstream.ts'
import { type SoakGateway, startSoakGateway } from './start-soak-gateway.ts'

const GIB = 1_024 ** 3

const PARTS: Readonly<Record<string, (gateway: SoakGateway) => Promise<readonly Measurement[]>>> = {
  bodies: (gateway) => measureBigBodies(gateway, GIB),
  readers: (gateway) => measureSlowReaders(gateway, { readers: 200, seconds: 60 }),
  idle: (gateway) => measureIdleConnections(gateway, 10_000),
  heads: (gateway) => measureSlowHeads(gateway, 1_000),
}

await runSoak(async ({ folder, cleanup }) => {
  const upstream = await startBodyUpstream(cleanup)
  const chosen = process.argv.slice(2)
  const rows: Measurement[] = []
  for (const [name, measure] of Object.entries(PARTS)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    const own = createCleanup() // a new process for each part, because the memory of other parts would also count
    cleanup.add(own.run)
    mkdirSync(join(folder, name))
    const gateway = await startSoakGateway({
      folder: join(folder, name),
      cleanup: own,
      upstream,
      settings: { limits: { body: '2GiB' } },
      nodeOptions: ['--max-old-space-size=256'],
    })
    rows.push(...(await measure(gateway)))
    await own.run()
  }
  return rows
})
