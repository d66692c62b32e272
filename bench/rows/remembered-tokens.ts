import type { Row } from '../row.ts'
import { measureRemembered, type RememberedToken } from '../tokens/measure-remembered.ts'
import { startHerd } from '../tokens/start-herd.ts'

const HERD = 1_000
const TOKENS = 100_000
const GOAL_CALLS = 1
const GOAL_BYTES = 1_024

/** The cost of cached opaque tokens: introspection requests and memory. */
export const rememberedTokens: Row = {
  name: 'remembered-tokens',
  run: async ({ folder, cleanup, rounds, say }) => {
    const herd = await startHerd({ folder, cleanup })
    const calls: number[] = []
    const weights: RememberedToken[] = []
    for (let round = 1; round <= rounds; round++) {
      calls.push(await herd(HERD))
      const weight = await measureRemembered(TOKENS)
      weights.push(weight)
      say(
        `round ${round}/${rounds}  ${calls.at(-1)} calls for a herd, ${weight.heapBytes.toFixed(0)} bytes a token`,
      )
    }
    return {
      title: 'Opaque tokens: first use and cache size',
      conditions: {
        herd: `${HERD} concurrent requests with one new token; the issuer responds after it received all of them`,
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
          found: weights.map(({ heapBytes }) => heapBytes),
          goal: GOAL_BYTES,
        },
        {
          name: 'estimate of the cache',
          unit: 'bytes',
          found: weights.map(({ estimatedBytes }) => estimatedBytes),
          goal: undefined,
        },
      ],
    }
  },
}
