import t from 'tap'
import type { PlaygroundInput } from '../../../../cli/commands/playground/evaluate.ts'
import { createEvaluator } from '../../../../cli/commands/playground/evaluator.ts'
import { readExample } from '../../../../cli/commands/playground/initial-files.ts'

const INPUT: PlaygroundInput = readExample()
const LONG_MS = 120_000

t.test('stops an evaluation after the time limit', async (t) => {
  const evaluator = createEvaluator(1)
  t.teardown(() => evaluator.close())
  const { files } = INPUT
  const routes = '  - { name: a, match: { methods: [GET], path: /a } }\n'.repeat(2_000)
  const slow = { ...INPUT, files: [{ name: 'policies/a.policy.yaml', text: `routes:\n${routes}` }, ...files] }
  t.match(await evaluator.evaluate(slow), { stopped: /longer than 0.001 seconds/ })
})

t.test('starts a new thread after a failure, and evaluates one input after the other', async (t) => {
  const evaluator = createEvaluator(LONG_MS)
  t.teardown(() => evaluator.close())
  const invalid = { request: '' } as unknown as PlaygroundInput
  const results = await Promise.all([invalid, INPUT, invalid, INPUT].map((one) => evaluator.evaluate(one)))
  t.match(results, [
    { stopped: /^The check failed/ },
    { summary: /^ok/ },
    { stopped: /^The check failed/ },
    { summary: /^ok/ },
  ])
})

t.test('limits the number of waiting inputs', async (t) => {
  const evaluator = createEvaluator(LONG_MS)
  t.teardown(() => evaluator.close())
  const results = await Promise.all(Array.from({ length: 9 }, () => evaluator.evaluate(INPUT)))
  t.match(results.at(7), { summary: /^ok/ })
  t.match(results.at(8), { stopped: /Too many checks are waiting/ })
})
