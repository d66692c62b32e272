import t from 'tap'
import type { Target } from '../../../gateway/upstreams/target.ts'
import { TargetSet } from '../../../gateway/upstreams/target-set.ts'

function aTarget(state: { isAccepting?: boolean; isFull?: boolean } = {}) {
  return { isAccepting: true, isFull: false, outstanding: 0, ...state }
}

function aSet(...groups: readonly { targets: readonly object[]; weights?: readonly number[] }[]): TargetSet {
  const set = new TargetSet()
  set.replace(groups.map(({ targets, weights }) => ({ targets: targets as readonly Target[], weights })))
  return set
}

t.test('the next group gets requests only if no earlier target accepts requests', async (t) => {
  const [first, second] = [aTarget(), aTarget()]
  const set = aSet({ targets: [first] }, { targets: [second] })
  t.equal(set.choose(), first)
  first.isFull = true
  t.equal(set.choose(), undefined, 'requests wait for the busy group')
  t.ok(set.isAccepting)
  first.isAccepting = false
  t.equal(set.choose(), second)
  second.isAccepting = false
  t.equal(set.choose(), undefined)
  t.notOk(set.isAccepting)
})

t.test('a retry prefers the next group to the target that failed', async (t) => {
  const [first, second] = [aTarget(), aTarget()] as unknown as [Target, Target]
  const set = aSet({ targets: [first] }, { targets: [second] })
  t.equal(set.choose(first), second)
  t.equal(aSet({ targets: [first] }).choose(first), first, 'the failed target is the last choice')
  const weighted = aSet({ targets: [second], weights: [1] })
  t.equal(weighted.choose(first), second)
  Object.assign(second, { isAccepting: false })
  t.equal(weighted.choose(first), undefined, 'does not choose a removed target')
})

t.test('a target with weight 0 gets requests only if the other targets accept none', async (t) => {
  const [none, some] = [aTarget(), aTarget()]
  const set = aSet({ targets: [none, some], weights: [0, 2] })
  for (let i = 0; i < 10; i++) t.equal(set.choose(), some)
  some.isAccepting = false
  for (let i = 0; i < 3; i++) t.equal(set.choose(), none)
  some.isAccepting = true
  t.equal(set.choose(), some)
})

t.test('an empty set accepts no requests', async (t) => {
  const set = aSet({ targets: [aTarget()] })
  set.replace([])
  t.equal(set.choose(), undefined)
  t.notOk(set.isAccepting)
  t.same(set.all, [])
  t.equal(set.state, 'open')
})
