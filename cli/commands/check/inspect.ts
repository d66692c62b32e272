import { type Diagnostic, sortDiagnostics } from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { noteAnonymousRoutes, noteAuditOnlyRoutes } from '../../../policy-engine/checks/exposed-routes.ts'
import { noteProxyRoutes, noteReplacedCredentials } from '../../../policy-engine/checks/proxy-keys.ts'
import type { PolicyTest } from '../../../policy-engine/format/policy-test.ts'
import {
  type OpenedPolicySet,
  type OpenPolicySetOptions,
  openPolicySet,
  type PolicySet,
} from '../../open-policy-set.ts'
import { type CheckReport, measure } from './report.ts'

export type InspectOptions = OpenPolicySetOptions & {
  /**
   * Absolute paths of files in the policy folder. The command counts the problems in other policy files, but does not
   * print these problems.
   */
  readonly files?: readonly string[] | undefined
  readonly noTests?: boolean | undefined
  readonly strict?: boolean | undefined
}

/**
 * Checks configuration and policies as the services do at startup. Runs the policy tests if configuration and policies
 * are valid.
 */
export async function inspect(options: InspectOptions): Promise<CheckReport> {
  return reportOn(await openPolicySet(options), options)
}

/** Reports the problems of policies that are open already, and the result of their tests. */
export async function reportOn(
  { set, policies, problems, folders, sources }: OpenedPolicySet,
  options: Pick<InspectOptions, 'files' | 'noTests' | 'strict'>,
): Promise<CheckReport> {
  const files = options.files && new Set(options.files.map((file) => displayPath(file)))
  const { routes } = policies
  const found = [
    ...problems,
    ...noteAnonymousRoutes(routes),
    ...noteAuditOnlyRoutes(routes),
    ...(set === undefined ? [] : noteReplacedCredentials(routes, set.credentialHeaders)),
    ...(set?.gateway.decisions === undefined ? [] : noteProxyRoutes(routes, set.credentialHeaders)),
  ]
  const all = options.strict === true ? found.map(warningToError) : found
  const shown = files === undefined ? all : all.filter((one) => concerns(one, files))
  const hidden = all.filter((one) => one.severity === 'error' && !shown.includes(one))
  const tests = policies.tests.filter((one) => files === undefined || files.has(one.source.file))
  const isTested = set !== undefined && options.noTests !== true
  const failures = isTested ? await runTests(tests, set) : []
  return {
    problems: [...sortDiagnostics(shown.filter(({ severity }) => severity !== 'note')), ...failures],
    notes: sortDiagnostics(shown.filter(({ severity }) => severity === 'note')),
    hiddenErrors: hidden.length,
    sizes: {
      ...measure(policies.routes, set?.catalogue.size ?? 0),
      tests: isTested ? tests.length : undefined,
    },
    folders,
    sources,
  }
}

function warningToError(one: Diagnostic): Diagnostic {
  return one.severity === 'warning' ? { ...one, severity: 'error' } : one
}

/**
 * Returns true for a problem with a location in one of the requested files, and for every problem outside policy files.
 */
function concerns({ location, related }: Diagnostic, files: ReadonlySet<string>): boolean {
  const isPolicy = /(?:\.policy|_test)\.yaml$/.test(location.file)
  return !isPolicy || [location, ...related.map((one) => one.location)].some(({ file }) => files.has(file))
}

async function runTests(tests: readonly PolicyTest[], set: PolicySet): Promise<readonly Diagnostic[]> {
  if (tests.length === 0) return []
  const { runPolicyTests } = await import('../../../gateway/simulate/run-policy-tests.ts')
  const { toSimulationPolicies } = await import('../../simulate/open-simulation-policies.ts')
  const nowSeconds = Math.floor(Date.now() / 1_000)
  return runPolicyTests(tests, toSimulationPolicies(set), nowSeconds).flatMap(({ failures }) => failures)
}
