import t from 'tap'
import { createSampler } from '../../../platform/tracing/sampler.ts'

const HIGHEST = 'f'.repeat(32)
const endingIn = (digits: string) => HIGHEST.slice(digits.length) + digits

t.test('a ratio selects the trace IDs whose last digits are below the ratio', async (t) => {
  const sample = createSampler({ sampler: 'traceidratio', sampleRatio: 0.25 })
  t.equal(sample(endingIn('3fffffff'), undefined), true)
  t.equal(sample(endingIn('40000000'), undefined), false)
  const sampleFew = createSampler({ sampler: 'traceidratio', sampleRatio: 0.001 })
  t.equal(sampleFew(endingIn('00418937'), undefined), true)
  t.equal(sampleFew(endingIn('00418938'), undefined), false)
  t.equal(createSampler({ sampler: 'traceidratio', sampleRatio: 1 })(HIGHEST, undefined), true)
  t.equal(createSampler({ sampler: 'traceidratio', sampleRatio: 0 })(endingIn('00000000'), undefined), false)
})

t.test('always_on and always_off ignore the ratio and the sender', async (t) => {
  for (const [sampler, expected] of [
    ['always_on', true],
    ['always_off', false],
  ] as const)
    for (const isParentSampled of [undefined, !expected])
      t.equal(createSampler({ sampler, sampleRatio: 0.5 })(endingIn('7fffffff'), isParentSampled), expected)
})

t.test('a sampler for parents follows the sender, and decides itself without a sender', async (t) => {
  for (const [sampler, isOwnTraceSampled] of [
    ['parentbased_always_on', true],
    ['parentbased_always_off', false],
    ['parentbased_traceidratio', false],
  ] as const) {
    const sample = createSampler({ sampler, sampleRatio: 0.5 })
    t.equal(sample(HIGHEST, true), true)
    t.equal(sample(HIGHEST, false), false)
    t.equal(sample(HIGHEST, undefined), isOwnTraceSampled)
  }
})
