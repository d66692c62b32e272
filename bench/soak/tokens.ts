// npm run soak:tokens: measures the heap per token in a cache of 100,000 tokens. Also measures the introspection
// requests for 1,000 concurrent uses of a new token. Prints each number beside its limit. The exit code is 1 if a
// number exceeds its limit.
import { measureCachedTokens } from '../tokens/measure-cached-tokens.ts'
import { startHerd } from '../tokens/start-herd.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { runSoak } from './run-soak.ts'

const TOKENS = 100_000
const HERD = 1_000
const LIMIT_BYTES = 1_024

await runSoak(async (soak): Promise<readonly Measurement[]> => {
  const herd = await startHerd(soak)
  const calls = await herd(HERD)
  const { heapBytes, estimatedBytes } = await measureCachedTokens(TOKENS)
  return [
    measuredCount(`${HERD} concurrent uses of one new token: calls to the issuer`, calls, 1),
    {
      what: `${TOKENS} cached tokens: heap per token`,
      measured: `${heapBytes.toFixed(0)} B`,
      limit: `<= ${LIMIT_BYTES} B`,
      passed: heapBytes <= LIMIT_BYTES,
    },
    {
      what: 'estimate of the cache',
      measured: `${estimatedBytes.toFixed(0)} B`,
      limit: 'none',
      passed: undefined,
    },
  ]
})
