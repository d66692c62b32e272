import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { startGatewaySubject } from '../product/start-gateway-subject.ts'
import type { Row } from '../row.ts'
import { startPeer } from '../start-peer.ts'
import type { Subject } from '../subject.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

/** 1.8 times the throughput from twice the processors is 2 / 1.8 of the CPU time for each request. */
const GOAL = 1.11

const FLOOR = 'floor, one process'
const FLOOR_TWICE = 'floor, two processes'

/**
 * The cost of a request with two workers, compared with one. When load and upstream need their own processor, throughput on a
 * machine with two shows nothing about workers. CPU time for each request shows the cost of sharing the work. The loss of the
 * runtime's floor with two processes is the machine's part: they share a processor and its caches, and each wakes for half as
 * many connections.
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
      title: 'Two workers compared with one, in CPU time: both share the processor of the server under test',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        'the target': '1.8 times the throughput on two processors, so at most 2 / 1.8 of the CPU per request',
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
