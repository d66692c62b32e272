import { Gauge, type Registry } from 'prom-client'

/** Registers what is said about the policies in force. @returns replaces it. */
export function createPolicyMetrics(
  registers: [Registry],
): (hash: string, routesOfPolicy: ReadonlyMap<string, number>) => void {
  const aggregator = 'first' // the same in every worker
  const info = new Gauge({
    name: 'scopegate_policy_info',
    aggregator,
    help: '1 for the policies that are in force.',
    labelNames: ['hash'],
    registers,
  })
  const routes = new Gauge({
    name: 'scopegate_policy_routes',
    aggregator,
    help: 'Routes of each policy.',
    labelNames: ['policy'],
    registers,
  })
  return (hash, routesOfPolicy) => {
    info.reset()
    info.set({ hash }, 1)
    routes.reset()
    for (const [policy, count] of routesOfPolicy) routes.set({ policy }, count)
  }
}
