import t from 'tap'
import { measureCachedTokens } from '../../../bench/tokens/measure-cached-tokens.ts'

t.test(
  'measureCachedTokens() measures a heap size per token that is close to the estimate of the cache',
  async (t) => {
    const { heapBytes, estimatedBytes } = await measureCachedTokens(5_000)
    t.ok(heapBytes > 400 && heapBytes < 2_048, `${heapBytes.toFixed(0)} bytes`)
    t.ok(estimatedBytes > 400 && estimatedBytes < 2_048, `${estimatedBytes.toFixed(0)} bytes`)
  },
)
