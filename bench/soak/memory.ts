// npm run soak:memory: large bodies, slow readers, idle connections and slow heads against one gateway process with a
// heap of 256 MiB. Prints each number beside its limit. The exit code is 1 if a number exceeds its limit. Names after
// `--` select parts: bodies, readers, idle, heads.
import { measureBigBodies } from './big-bodies.ts'
import { measureIdleConnections } from './idle-connections.ts'
import type { Measurement } from './measurement.ts'
import { measureParts, runSoak, type SoakParts } from './run-soak.ts'
import { measureSlowHeads } from './slow-heads.ts'
import { measureSlowReaders } from './slow-readers.ts'
import { startBodyUpstream } from './start-body-upstream.ts'
import { type SoakGateway, startSoakGateway } from './start-soak-gateway.ts'

const GIB = 1_024 ** 3

const PARTS = {
  bodies: onGateway((gateway) => measureBigBodies(gateway, GIB)),
  readers: onGateway((gateway) => measureSlowReaders(gateway, { readers: 200, seconds: 60 })),
  idle: onGateway((gateway) => measureIdleConnections(gateway, 10_000)),
  heads: onGateway((gateway) => measureSlowHeads(gateway, 1_000)),
}

await runSoak((soak) => measureParts(soak, PARTS))

function onGateway(measure: (gateway: SoakGateway) => Promise<readonly Measurement[]>): SoakParts[string] {
  return async ({ folder, cleanup }) => {
    const gateway = await startSoakGateway({
      folder,
      cleanup,
      upstream: await startBodyUpstream(cleanup),
      settings: { limits: { body: '2GiB' } },
      nodeOptions: ['--max-old-space-size=256'],
    })
    return measure(gateway)
  }
}
