import type { CircuitState } from '../../platform/circuit-breaker.ts'
import type { Target } from './target.ts'

export class TargetSet {
  readonly all: readonly Target[]
  #turn = 0

  constructor(targets: readonly Target[]) {
    this.all = targets
  }

  /**
   * Chooses the target with the fewest outstanding requests among those whose circuit allows one. Ties are resolved in
   * round-robin order.
   * @param except the target that just failed; it is the last choice.
   * @returns `undefined` if every circuit is open.
   */
  choose(except?: Target): Target | undefined {
    const { all } = this
    let best: Target | undefined
    const count = all.length
    if (except === undefined && count > 1) this.#turn = (this.#turn + 1) % count
    for (let i = 0; i < count; i++) {
      const target = all[(this.#turn + i) % count] as Target
      if (!target.takes) continue
      if (best === undefined || best === except) best = target
      else if (target !== except && target.outstanding < best.outstanding) best = target
    }
    return best
  }

  /** State of the healthiest target. */
  get state(): CircuitState {
    if (this.all.some((target) => target.state === 'closed')) return 'closed'
    return this.all.some((target) => target.state === 'half_open') ? 'half_open' : 'open'
  }
}
