import { isDeepStrictEqual } from 'node:util'
import { viewChart } from './chart-view.ts'
import type { KubeObject } from './kube-object.ts'
import { ALL_VALUES } from './value-scenarios/all-values.ts'
import { CANARY } from './value-scenarios/canary.ts'
import { DEFAULTS } from './value-scenarios/defaults.ts'
import { ISSUERS } from './value-scenarios/issuers.ts'
import { MONITORING } from './value-scenarios/monitoring.ts'
import { NETWORK_POLICIES } from './value-scenarios/network-policies.ts'
import { PODS } from './value-scenarios/pods.ts'
import { POLICIES } from './value-scenarios/policies.ts'
import { ROUTING } from './value-scenarios/routing.ts'
import type { Scenario } from './value-scenarios/scenario.ts'
import { STORES } from './value-scenarios/stores.ts'

/** At least one scenario checks each value (values.check.ts). */
export const SCENARIOS: readonly Scenario[] = [
  ...ALL_VALUES,
  ...DEFAULTS,
  ...STORES,
  ...ROUTING,
  ...PODS,
  ...NETWORK_POLICIES,
  ...MONITORING,
  ...POLICIES,
  ...ISSUERS,
  ...CANARY,
]

/** Returns one line for each failed check of a scenario. */
export function findLostValues(scenario: Scenario, objects: readonly KubeObject[]): readonly string[] {
  const chart = viewChart(objects)
  return scenario.checks.flatMap(([value, read, expected]) => {
    const found = readOrExplain(() => read(chart))
    return isDeepStrictEqual(found, expected)
      ? []
      : [`${scenario.name}: ${value}: expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`]
  })
}

function readOrExplain(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    return `error: ${error instanceof Error ? error.message : String(error)}`
  }
}
