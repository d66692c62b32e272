import type { Row } from '../row.ts'
import { type CachedTokenSize, measureCachedTokens } from '../tokens/measure-cached-tokens.ts'
import { startHerd } from '../tokens/start-herd.ts'

const HERD = 1_000
const TOKENS = 100_000
const GOAL_CALLS = 1
const GOAL_BYTES = 1_024

/** The cost of opaque tokens: introspection requests at the first use, and memory in the token cache. */
export const opaqueTokens: Row = {
  name: 'opaque-tokens',
  run: async ({ folder, cleanup, rounds, printProgress }) => {
    const herd = await startHerd({ folder, cleanup })
    const calls: number[] = []
    const sizes: CachedTokenSize[] = []
    for (let round = 1; round <= rounds; round++) {
      calls.push(await herd(HERD))
      const size = await measureCachedTokens(TOKENS)
      sizes.push(size)
      printProgress(
        `round ${round}/${rounds}  ${calls.at(-1)} introspection requests for ${HERD} concurrent requests, ${size.heapBytes.toFixed(0)} bytes per token`,
      )
    }
    return {
      title: 'Opaque tokens: first use and cache size',
      conditions: {
        herd: `${HERD} concurrent requests with one new token; the issuer responds after all of them have missed the token cache`,
        tokens: `${TOKENS}, each with the claims of the bundled authorization server, in this process`,
      },
      measured: [],
      ratios: [],
      figures: [
        {
          name: `${HERD} concurrent first uses`,
          unit: 'calls to the issuer',
          found: calls,
          goal: GOAL_CALLS,
        },
        {
          name: `heap per token of ${TOKENS}`,
          unit: 'bytes',
          found: sizes.map(({ heapBytes }) => heapBytes),
          goal: GOAL_BYTES,
        },
        {
          name: 'size per token as estimated by the cache',
          unit: 'bytes',
          found: sizes.map(({ estimatedBytes }) => estimatedBytes),
          goal: undefined,
        },
      ],
    }
  },
}
