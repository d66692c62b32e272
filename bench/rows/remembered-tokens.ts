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
      title: 'Opaque tokens: first use, and what is remembered',
      conditions: {
        herd: `${HERD} requests with one new token, none answered before all have come`,
        tokens: `${TOKENS}, each with claims as the bundled authorization server gives them, in this process`,
      },
      measured: [],
      ratios: [],
      figures: [
        { name: `${HERD} first uses at once`, unit: 'calls to the issuer', found: calls, goal: GOAL_CALLS },
        {
          name: `heap of each of ${TOKENS}`,
          unit: 'bytes',
          found: weights.map(({ heapBytes }) => heapBytes),
          goal: GOAL_BYTES,
        },
        {
          name: 'the same as the cache estimates it',
          unit: 'bytes',
          found: weights.map(({ estimatedBytes }) => estimatedBytes),
          goal: undefined,
        },
      ],
    }
  },
}
