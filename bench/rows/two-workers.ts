import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import { startPeer } from '../start-peer.ts'
import type { Subject } from '../subject.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

/**
 * Target of the ratio. With 1.8 times the throughput on two processors, a request takes 2 / 1.8 = 1.11 times the CPU
 * time.
 */
const GOAL = 1.11

const FLOOR = 'floor, one process'
const FLOOR_TWICE = 'floor, two processes'

/**
 * Compares the cost of a request with two workers and with one worker. The row compares CPU time, not throughput. On a
 * machine with two processors, the load and the upstream need one processor. The two workers share the other processor.
 * The minimal proxy `raw-node` also runs with one and with two processes. The ratio for `raw-node` shows the cost that
 * every Node.js program has: the processes share the processor caches, and each process wakes up for half as many
 * connections.
 */
export const twoWorkers: Row = {
  name: 'two-workers',
  run: async (bench) => {
    const { cores, cleanup } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder: bench.folder, cleanup })
    const load = await startLoad({ cores: cores?.others, folder: bench.folder, cleanup })
    const gatewayWith = (name: string, workers: number): Promise<Subject> => {
      const folder = join(bench.folder, String(workers))
      mkdirSync(folder)
      const settings = { SCOPEGATE_WORKERS: String(workers) }
      return startGatewaySubject({ name, cores, folder, cleanup, upstream: upstream.url, settings })
    }
    const one = await gatewayWith('one worker', 1)
    const two = await gatewayWith('two workers', 2)
    const peer = { cores: cores?.server, cleanup, upstream: upstream.url, target: one.target }
    const floor = await startPeer({ ...peer, name: FLOOR, program: 'raw-node' })
    const floorTwice = await startPeer({ ...peer, name: FLOOR_TWICE, program: 'raw-node-twice' })
    return {
      title:
        'Two workers compared with one worker, in CPU time: both workers share the processor of the server under test',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        'the target':
          '1.8 times the throughput on two processors, so at most 2 / 1.8 times the CPU time per request',
        'not measured': 'contention of two processors for memory and the kernel',
      },
      measured: await measureRounds({ ...bench, subjects: [one, two, floor, floorTwice], load }),
      ratios: [
        { of: two.name, to: one.name, goal: GOAL },
        { of: FLOOR_TWICE, to: FLOOR, goal: undefined },
      ],
    }
  },
}
