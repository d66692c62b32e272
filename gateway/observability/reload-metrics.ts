import { Counter, Gauge, type Registry } from 'prom-client'

/** Counts reloads of policies. */
export type ReloadMeter = {
  /** Policies have come into force, or those on the disk are broken. */
  reloaded(result: 'success' | 'failure'): void
  /** What is on the disk is in force again, without anything having been reloaded. */
  restored(): void
}

/** Registers the metrics of reloads. The start was a success, or there would be nothing to ask. */
export function createReloadMeter(registry: Registry): ReloadMeter {
  const registers = [registry]
  const reloads = new Counter({
    name: 'scopegate_policy_reloads_total',
    help: 'Changed policies that came into force, or were broken.',
    labelNames: ['result'],
    registers,
  })
  for (const result of ['success', 'failure']) reloads.inc({ result }, 0)
  const success = new Gauge({
    name: 'scopegate_policy_reload_success',
    aggregator: 'min',
    help: '1 while the policies on the disk are those in force, 0 while they are broken.',
    registers,
  })
  success.set(1)
  return {
    reloaded(result) {
      reloads.inc({ result })
      success.set(result === 'success' ? 1 : 0)
    },
    restored: () => success.set(1),
  }
}
