import type { CircuitState } from '../../platform/circuit-breaker.ts'
import type { Target, TargetHealth } from './target.ts'

/** The targets with one priority. */
export type TargetGroup = {
  readonly targets: readonly Target[]
  /**
   * The weight of each target. A target with weight 0 gets requests only if no other target accepts requests. Undefined:
   * the target with the fewest outstanding requests is next.
   */
  readonly weights: readonly number[] | undefined
}

/** The targets of an upstream. The first group with a target that accepts requests gets the requests. */
export class TargetSet {
  #groups: readonly Balancer[] = []
  #all: readonly Target[] = []

  get all(): readonly Target[] {
    return this.#all
  }

  /** Replaces all targets. The groups are in the order of their use. */
  replace(groups: readonly TargetGroup[]): void {
    this.#groups = groups.map((group) => new Balancer(group))
    this.#all = groups.flatMap(({ targets }) => targets)
  }

  /**
   * Chooses a target with a circuit that allows a request. A busy group keeps its requests: the next group gets requests
   * only if the circuits of all earlier targets are open.
   * @param except the target that just failed. This target is the last choice.
   * @returns `undefined` if every circuit is open, or if all connections are busy.
   */
  choose(except?: Target): Target | undefined {
    let last: Target | undefined
    for (const group of this.#groups) {
      const target = group.choose(except)
      if (target !== undefined && target !== except) return target
      last ??= target
      if (target === undefined && group.isAccepting) return last
    }
    return last
  }

  /** Returns a target for a request of the gateway itself. Changes neither the rotation nor the credits of weights. */
  findFree(): Target | undefined {
    return this.#all.find((target) => target.state === 'closed' && !target.isFull)
  }

  /** Whether the circuit of a target allows a request, even if all connections of the target are busy. */
  get isAccepting(): boolean {
    return this.#groups.some((group) => group.isAccepting)
  }

  /** States of the targets with a health check. */
  get health(): readonly TargetHealth[] {
    return this.#all.flatMap((target) => target.health ?? [])
  }

  get openConnections(): number {
    return this.#all.reduce((sum, target) => sum + target.openConnections, 0)
  }

  /** State of the healthiest target. */
  get state(): CircuitState {
    if (this.#all.some((target) => target.state === 'closed')) return 'closed'
    return this.#all.some((target) => target.state === 'half_open') ? 'half_open' : 'open'
  }
}

/** Divides requests among the targets of one group. */
class Balancer {
  readonly #all: readonly Target[]
  readonly #weights: readonly number[] | undefined
  /** The credit of each target with a weight. The sum of all credits is 0. */
  readonly #credits: number[]
  #turn = 0

  constructor({ targets, weights }: TargetGroup) {
    this.#all = targets
    this.#weights = weights
    this.#credits = targets.map(() => 0)
  }

  get isAccepting(): boolean {
    return this.#all.some((target) => target.isAccepting)
  }

  /**
   * Chooses the target with the fewest outstanding requests. Chooses equal targets in round-robin order. With weights,
   * chooses by the weights only.
   */
  choose(except: Target | undefined): Target | undefined {
    if (this.#weights !== undefined) return this.#chooseByWeight(this.#weights, except)
    const all = this.#all
    let best: Target | undefined
    const count = all.length
    if (except === undefined && count > 1) this.#turn = (this.#turn + 1) % count
    for (let i = 0; i < count; i++) {
      const target = all[(this.#turn + i) % count] as Target
      if (!target.isAccepting || (target.isFull && target !== except)) continue
      if (best === undefined || best === except) best = target
      else if (target !== except && target.outstanding < best.outstanding) best = target
    }
    return best
  }

  /**
   * Chooses the target with the highest credit after each target has received its weight. The chosen target pays the
   * sum of these weights. In a cycle of as many requests as the sum, each target therefore gets exactly its weight, in
   * an even order. A retry does not change the credits.
   */
  #chooseByWeight(weights: readonly number[], except: Target | undefined): Target | undefined {
    const credits = this.#credits
    let best = -1
    let bestCredit = 0
    let sum = 0
    for (const [index, target] of this.#all.entries()) {
      if (target === except || !target.isAccepting || target.isFull) continue
      const weight = weights[index] as number
      const credit = (credits[index] as number) + weight
      sum += weight
      if (except === undefined) credits[index] = credit
      if (best !== -1 && credit <= bestCredit) continue
      best = index
      bestCredit = credit
    }
    if (best === -1) return except?.isAccepting === true && this.#all.includes(except) ? except : undefined
    if (except === undefined) credits[best] = bestCredit - sum
    return this.#all[best]
  }
}
