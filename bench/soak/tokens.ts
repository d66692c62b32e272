// npm run soak:tokens: what remembering tokens costs: heap for each of 100,000, questions for a herd of 1,000. Prints each
// number beside its bar; exit code 1 when one is not held.
import { measureRemembered } from '../tokens/measure-remembered.ts'
import { startHerd } from '../tokens/start-herd.ts'
import { type Measurement, measuredCount } from './measurement.ts'
import { runSoak } from './run-soak.ts'

const TOKENS = 100_000
const HERD = 1_000
const BAR_BYTES = 1_024

await runSoak(async (soak): Promise<readonly Measurement[]> => {
  const herd = await startHerd(soak)
  const calls = await herd(HERD)
  const { heapBytes, estimatedBytes } = await measureRemembered(TOKENS)
  return [
    measuredCount(`${HERD} concurrent uses of one new token: calls to the issuer`, calls, 1),
    {
      what: `${TOKENS} cached tokens: heap per token`,
      measured: `${heapBytes.toFixed(0)} B`,
      bar: `<= ${BAR_BYTES} B`,
      held: heapBytes <= BAR_BYTES,
    },
    {
      what: 'estimate of the cache',
      measured: `${estimatedBytes.toFixed(0)} B`,
      bar: 'none',
      held: undefined,
    },
  ]
})
