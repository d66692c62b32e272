import { Counter, Gauge, type Registry } from 'prom-client'

export type ReloadMeter = {
  /** Records that new policies became active, or that the policies on disk are invalid or could not be checked. */
  reloaded(result: 'success' | 'failure'): void
  /** Records that the policies on disk are equal to the active policies again, without a reload. */
  restored(): void
}

/**
 * Registers the metrics of reloads. The gateway starts only after a successful load, so the initial load counts as a
 * success.
 */
export function createReloadMeter(registry: Registry): ReloadMeter {
  const registers = [registry]
  const reloads = new Counter({
    name: 'scopegate_policy_reloads_total',
    help: 'Policy reloads, by result.',
    labelNames: ['result'],
    registers,
  })
  for (const result of ['success', 'failure']) reloads.inc({ result }, 0)
  const success = new Gauge({
    name: 'scopegate_policy_reload_success',
    help: '1 while the policies on the disk are active, 0 after a failed reload.',
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
