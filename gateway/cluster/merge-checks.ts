import type { ReadinessCheck } from '../../platform/ops/ops-server.ts'

/**
 * Merges the checks of several workers by name, in the order of the first worker. A check that fails or is degraded in
 * some workers is only degraded here: the number of ready workers decides whether the gateway is ready.
 */
export function mergeChecks(workers: readonly (readonly ReadinessCheck[])[]): readonly ReadinessCheck[] {
  const names = new Set(workers.flatMap((checks) => checks.map(({ name }) => name)))
  return [...names].map((name) => {
    const found = workers.flatMap((checks) => checks.filter((check) => check.name === name))
    const troubled = found.filter(({ ok, degraded }) => !ok || degraded === true)
    const [first] = troubled
    if (first === undefined) return { name, ok: true }
    const detail = [`${troubled.length} of ${workers.length} workers`, first.detail ?? 'failed'].join(': ')
    return { name, ok: true, degraded: true, detail }
  })
}
