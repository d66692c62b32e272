import t from 'tap'
import { measureRemembered } from '../../../bench/tokens/measure-remembered.ts'

t.test(
  'measureRemembered() measures the memory of a token, close to the estimate of the cache',
  async (t) => {
    const { heapBytes, estimatedBytes } = await measureRemembered(5_000)
    t.ok(heapBytes > 400 && heapBytes < 2_048, `${heapBytes.toFixed(0)} bytes`)
    t.ok(estimatedBytes > 400 && estimatedBytes < 2_048, `${estimatedBytes.toFixed(0)} bytes`)
  },
)
