import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { CACHED_TOKENS, NEW_TOKENS, startJwtSubjects } from '../product/start-jwt-subjects.ts'
import type { Row } from '../row.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

const GOAL = 6

/**
 * Compares the cost of a JWT at its first use with the cost of a cached JWT. The first use includes all checks and the
 * signature.
 */
export const firstUse: Row = {
  name: 'first-use',
  run: async (bench) => {
    const { cores, folder, cleanup } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
    const load = await startLoad({ cores: cores?.others, folder, cleanup })
    const subjects = await startJwtSubjects({ cores, folder, cleanup, upstream: upstream.url })
    const { cached, firstEs256, firstRs256 } = subjects
    return {
      title: 'First use of a JWT compared with a cached JWT: GET as in the row cached token, one gateway',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        'new tokens': `${NEW_TOKENS}, sent cyclically; the gateway caches at most ${CACHED_TOKENS}`,
      },
      measured: await measureRounds({ ...bench, subjects: [cached, firstEs256, firstRs256], load }),
      ratios: [
        { of: firstEs256.name, to: cached.name, goal: GOAL },
        { of: firstRs256.name, to: cached.name, goal: undefined },
      ],
    }
  },
}
