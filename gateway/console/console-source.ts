import type { Logger } from '../../platform/logging/logger.ts'
import type { UnavailablePrefix } from '../../policy-engine/load/load-policy-sources.ts'
import type { PolicyRoute } from '../../policy-engine/load/policy-route.ts'
import type { GatewayConfig } from '../config/gateway-config.ts'
import type { GatewayCheck } from '../observability/readiness-check.ts'
import type { PolicyReloader } from '../snapshot/reload/policy-reloader.ts'
import type { DecisionSource } from './decision-source.ts'
import type { History } from './history.ts'
import type { RouteTests, TestSummary } from './policy-tests.ts'
import type { Sample } from './sample.ts'

/** Access to the state of all processes of a gateway. */
export type ConsoleSource = {
  readonly config: GatewayConfig
  readonly version: string
  readonly logger: Logger
  /** Returns one sample of each process. */
  readonly sample: () => Promise<readonly Sample[]>
  readonly checks: () => Promise<readonly GatewayCheck[]>
  /** The active policies, in the format of `GET /policies`; undefined: no worker can reply now. */
  readonly describe: () => Promise<string | undefined>
  readonly policies: Pick<PolicyReloader, 'active' | 'states' | 'failure'>
  readonly decisions: DecisionSource
}

/** The part of `GET /policies` that the pages show. */
export type DescribedPolicies = {
  readonly hash: string
  /** Sorted by path, then by name. */
  readonly routes: readonly PolicyRoute[]
  readonly unavailable: readonly UnavailablePrefix[]
  /** The scopes that grant each scope. */
  readonly implication: Readonly<Record<string, readonly string[]>>
}

/** The data of all pages. */
export type ConsoleState = Pick<ConsoleSource, 'config' | 'version' | 'policies' | 'decisions'> & {
  /** Returns a history that contains the last seconds. */
  readonly history: () => Promise<History>
  /** Returns the active policies. If no worker can reply now: the last known policies, or undefined without any. */
  readonly describe: () => Promise<DescribedPolicies | undefined>
  /** Returns the number of tests of each route of these policies. undefined: no results of these policies. */
  readonly testSummary: (policies: DescribedPolicies) => Promise<TestSummary | undefined>
  /** Returns the tests of a route. `route` undefined: the tests without a route. */
  readonly testsOf: (
    route: string | undefined,
    policies: DescribedPolicies,
  ) => Promise<RouteTests | undefined>
  readonly nowMs: () => number
}
