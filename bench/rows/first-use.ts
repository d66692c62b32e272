import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { checkOut } from '../check-out.ts'
import { createCleanup } from '../cleanup.ts'
import { startLoad } from '../load/start-load.ts'
import { type Measured, measureRounds } from '../measure-rounds.ts'
import {
  CACHED_TOKENS,
  type JwtSubjects,
  NEW_TOKENS,
  startJwtSubjects,
} from '../product/start-jwt-subjects.ts'
import type { Row } from '../row.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const GOAL = 6
/** Maximum for the ratio to the previous revision. */
const PREVIOUS_GOAL = 1.05
/**
 * Two processes of one revision can differ by 20 %, because V8 optimizes and inlines other functions. So a comparison
 * with another revision starts new processes after this number of rounds.
 */
const ROUNDS_PER_PROCESS = 3

/**
 * Compares the cost of a JWT at its first use with the cost of a cached JWT. The first use includes all checks and the
 * signature. With `--previous REVISION`, the row also measures the gateway of that revision.
 */
export const firstUse: Row = {
  name: 'first-use',
  run: async (bench) => {
    const { cores, folder, cleanup, previous, rounds } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
    const load = await startLoad({ cores: cores?.others, folder, cleanup })
    const checkout = previous === undefined ? undefined : checkOut(previous, bench)
    const measured = new Map<string, Measured['samples']>()
    const ratios: { of: string; to: string; goal: number | undefined }[] = []
    const roundsPerProcess = checkout === undefined ? rounds : ROUNDS_PER_PROCESS
    for (let done = 0; done < rounds; done += roundsPerProcess) {
      const own = createCleanup()
      cleanup.add(own.run)
      const start = (revision: {
        readonly checkout?: string
        readonly prefix?: string
      }): Promise<JwtSubjects> =>
        startJwtSubjects({
          ...revision,
          cores,
          folder: mkdtempSync(join(folder, 'gateway-')),
          cleanup: own,
          upstream: upstream.url,
        })
      const present = await start({})
      const other =
        checkout === undefined ? undefined : await start({ checkout, prefix: `revision ${previous}, ` })
      const subjects = [present, ...(other === undefined ? [] : [other])].flatMap(
        ({ cached, firstEs256, firstRs256 }) => [cached, firstEs256, firstRs256],
      )
      const part = { ...bench, subjects, load, rounds: Math.min(roundsPerProcess, rounds - done) }
      for (const { name, samples } of await measureRounds(part))
        measured.set(name, [...(measured.get(name) ?? []), ...samples])
      if (done === 0)
        ratios.push(
          { of: present.firstEs256.name, to: present.cached.name, goal: GOAL },
          { of: present.firstRs256.name, to: present.cached.name, goal: undefined },
          ...(other === undefined
            ? []
            : (['cached', 'firstEs256', 'firstRs256'] as const).map((kind) => ({
                of: present[kind].name,
                to: other[kind].name,
                goal: PREVIOUS_GOAL,
              }))),
        )
      await own.run()
    }
    return {
      title: 'First use of a JWT compared with a cached JWT: GET as in the row cached token, one gateway',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        'new tokens': `${NEW_TOKENS}, sent cyclically; the gateway caches at most ${CACHED_TOKENS}`,
        ...(checkout === undefined ? {} : { processes: `new after ${ROUNDS_PER_PROCESS} rounds` }),
      },
      measured: [...measured].map(([name, samples]) => ({ name, samples })),
      ratios,
    }
  },
}
