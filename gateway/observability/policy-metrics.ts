import { stat } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import type { SourceState } from '../../policy-engine/load/load-policy-sources.ts'
import type { PolicySource } from '../../policy-engine/load/source-permissions.ts'

export type MeteredPolicies = {
  readonly hash: string
  readonly routes: readonly { readonly name: string; readonly policy: string }[]
  readonly sources: readonly Pick<SourceState, 'name' | 'state'>[]
}

export type FetchedSource = Pick<PolicySource, 'name' | 'lastFetchFile'>

/**
 * Registers the metrics of the active policies. Each scrape calls `fetchedSources`.
 * @returns a function that replaces the values.
 */
export function createPolicyMetrics(
  registers: [Registry],
  fetchedSources: () => readonly FetchedSource[],
): (policies: MeteredPolicies) => void {
  new Gauge({
    name: 'scopegate_policy_source_last_fetch_timestamp_seconds',
    help: 'Time of the last successful fetch of the policy source, 0 before the first fetch.',
    labelNames: ['source'],
    registers,
    async collect() {
      for (const { name, lastFetchFile } of fetchedSources())
        if (lastFetchFile !== undefined) this.set({ source: name }, await modifiedSeconds(lastFetchFile))
    },
  })
  const info = new Gauge({
    name: 'scopegate_policy_info',
    help: '1 for the active policies.',
    labelNames: ['hash'],
    registers,
  })
  const routes = new Gauge({
    name: 'scopegate_policy_routes',
    help: 'Routes of each policy.',
    labelNames: ['policy'],
    registers,
  })
  const valid = new Gauge({
    name: 'scopegate_policy_source_valid',
    help: '1 while the files of the policy source are active, 0 while they are invalid.',
    labelNames: ['source'],
    registers,
  })
  return (policies) => {
    valid.reset()
    for (const { name, state } of policies.sources) valid.set({ source: name }, state === 'valid' ? 1 : 0)
    info.reset()
    info.set({ hash: policies.hash }, 1)
    routes.reset()
    for (const [policy, count] of countRoutes(policies)) routes.set({ policy }, count)
  }
}

function countRoutes(policies: MeteredPolicies): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { policy } of policies.routes) counts.set(policy, (counts.get(policy) ?? 0) + 1)
  return counts
}

async function modifiedSeconds(file: string): Promise<number> {
  try {
    return (await stat(file)).mtimeMs / 1_000
  } catch {
    return 0
  }
}
