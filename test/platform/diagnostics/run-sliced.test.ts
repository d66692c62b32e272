import t from 'tap'
import { runSliced, runSync, type Steps } from '../../../platform/diagnostics/run-sliced.ts'

function* threeSteps(calls: string[]): Steps<string> {
  for (const step of ['one', 'two', 'three']) {
    calls.push(step)
    yield
  }
  return 'result'
}

t.test('runSync() runs all steps and returns the result', async (t) => {
  const calls: string[] = []
  t.equal(runSync(threeSteps(calls)), 'result')
  t.strictSame(calls, ['one', 'two', 'three'])
})

/**
 * Runs six steps while a clock advances by `stepMs` milliseconds per step. Returns the order of the steps and of the
 * event loop iterations.
 */
async function runWithClock(stepMs: number): Promise<readonly string[]> {
  const calls: string[] = []
  let nowMs = 1_000
  let immediate = setImmediate(function turn() {
    calls.push('turn')
    immediate = setImmediate(turn)
  })
  function* steps(): Steps<string> {
    for (let step = 1; step <= 6; step++) {
      calls.push(String(step))
      nowMs += stepMs
      yield
    }
    return 'result'
  }
  calls.push(await runSliced(steps(), () => nowMs))
  clearImmediate(immediate)
  return calls
}

t.test('runSliced() returns control to the event loop every 4 ms', async (t) => {
  t.strictSame(await runWithClock(4), [
    '1',
    'turn',
    '2',
    'turn',
    '3',
    'turn',
    '4',
    'turn',
    '5',
    'turn',
    '6',
    'turn',
    'result',
  ])
  t.strictSame(await runWithClock(2), ['1', '2', 'turn', '3', '4', 'turn', '5', '6', 'turn', 'result'])
  t.strictSame(await runWithClock(1.5), ['1', '2', '3', 'turn', '4', '5', '6', 'turn', 'result'])
  t.strictSame(await runWithClock(0), ['1', '2', '3', '4', '5', '6', 'result'])
})

t.test('runSliced() uses a monotonic clock by default', async (t) => {
  const calls: string[] = []
  t.equal(await runSliced(threeSteps(calls)), 'result')
  t.strictSame(calls, ['one', 'two', 'three'])
})
