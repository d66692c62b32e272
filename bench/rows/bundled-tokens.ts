import { startLoad } from '../load/start-load.ts'
import { measureRounds } from '../measure-rounds.ts'
import { CACHED_BUNDLED_TOKENS, startBundledTokenSubjects } from '../product/start-bundled-token-subjects.ts'
import { NEW_TOKENS } from '../product/start-jwt-subjects.ts'
import type { Row } from '../row.ts'
import { startUpstream } from '../upstream/start-upstream.ts'

/**
 * Compares the cost of a JWT of the bundled authorization server with the cost of an opaque token, cached and at the
 * first use.
 */
export const bundledTokens: Row = {
  name: 'bundled-tokens',
  run: async (bench) => {
    const { cores, folder, cleanup } = bench
    const upstream = await startUpstream({ cores: cores?.others, folder, cleanup })
    const load = await startLoad({ cores: cores?.others, folder, cleanup })
    const subjects = await startBundledTokenSubjects({ cores, folder, cleanup, upstream: upstream.url })
    const { cachedOpaque, cachedJwt, firstOpaque, firstJwt } = subjects
    return {
      title: 'Tokens of the bundled authorization server: GET as in the row cached token, one gateway',
      conditions: {
        load: `${load.name}, ${load.connections} connections`,
        upstream: upstream.name,
        'new tokens': `${NEW_TOKENS} of each format, sent cyclically; the gateway caches at most ${CACHED_BUNDLED_TOKENS}`,
        issuer: 'on SQLite; the figures do not include its CPU time',
      },
      measured: await measureRounds({
        ...bench,
        subjects: [cachedOpaque, cachedJwt, firstOpaque, firstJwt],
        load,
      }),
      ratios: [
        { of: cachedJwt.name, to: cachedOpaque.name, goal: undefined },
        { of: firstJwt.name, to: firstOpaque.name, goal: undefined },
        { of: firstJwt.name, to: cachedJwt.name, goal: undefined },
        { of: firstOpaque.name, to: cachedOpaque.name, goal: undefined },
      ],
    }
  },
}
