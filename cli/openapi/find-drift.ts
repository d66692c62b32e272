import type { ScopeImplication } from '../../oauth/scope.ts'
import { type Diagnostic, diagnostic, type SourceLocation } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { CompiledPolicies, CompiledRoute } from '../../policy-engine/decide/compile-policies.ts'
import { describeScopes } from '../../policy-engine/decide/describe-route.ts'
import { compileScopeCheck, type ScopeCheck } from '../../policy-engine/decide/scope-check.ts'
import { readPathTemplate, shapeOf } from '../../policy-engine/match/path-template.ts'
import { compareScopes } from '../commands/diff/compare-access.ts'
import { freshSegments, representativePaths } from '../commands/diff/representative-requests.ts'
import type { Operation } from './read-operations.ts'

/**
 * Finds differences between a contract and policies: the set of requests, the required scopes, and whether a token is
 * required. Ignores conditions, limits and similar rules, because OpenAPI cannot express these rules. Codes: O301 an
 * operation without a route, O302 a route without an operation, O303 different scopes, O304 a different anonymous rule.
 */
export function findDrift(options: {
  readonly document: YamlDocument
  readonly operations: readonly Operation[]
  readonly policies: Pick<CompiledPolicies, 'match' | 'routes'>
  readonly implication: ScopeImplication
  readonly locationOf: (route: CompiledRoute) => SourceLocation
}): readonly Diagnostic[] {
  const { document, operations, policies, locationOf } = options
  const templates = [
    ...operations.map(({ servedPath }) => servedPath),
    ...policies.routes.map(({ path }) => path),
  ].map(readPathTemplate)
  const fresh = freshSegments(templates)
  const diagnostics: Diagnostic[] = []
  const described = new Set<string>()
  for (const operation of operations) {
    const { method, servedPath: path, at } = operation
    const template = readPathTemplate(path)
    described.add(`${method} ${shapeOf(template)}`)
    const [example = path] = representativePaths(template, fresh, 0)
    const match = policies.match(method, example)
    const here = document.locationOf(at, 'key')
    if (match.kind !== 'route') {
      // If headers select between several routes, OpenAPI does not show which route the operation describes.
      if (policies.routes.some((route) => isByHeaders(route, method, shapeOf(template)))) continue
      const why = match.kind === 'not_found' ? 'no route for it' : 'no route with this method'
      diagnostics.push(
        diagnostic('O301', `${method} ${path} is in the contract, but the policy has ${why}`, here, {
          hint: 'requests get a 404 or 405',
        }),
      )
      continue
    }
    described.add(`route ${match.route.policy.name}`)
    diagnostics.push(...compare(operation, match.route, options))
  }
  for (const route of policies.routes) {
    const template = readPathTemplate(route.path)
    const missing = route.methods.filter((method) => !described.has(`${method} ${shapeOf(template)}`))
    // The contract describes a wildcard route if it describes one path that the route matches.
    if (missing.length === 0 || (template.below && described.has(`route ${route.policy.name}`))) continue
    diagnostics.push(
      diagnostic(
        'O302',
        `${missing.join(', ')} ${route.path} has a route, but the contract does not describe it`,
        locationOf(route),
        {
          hint: 'add the missing methods to the contract, or remove these methods from the route',
        },
      ),
    )
  }
  return diagnostics
}

function isByHeaders({ matchHeaders, methods, path }: CompiledRoute, method: string, shape: string): boolean {
  return matchHeaders.length > 0 && methods.includes(method) && shapeOf(readPathTemplate(path)) === shape
}

function compare(
  operation: Operation,
  route: CompiledRoute,
  {
    document,
    implication,
    locationOf,
  }: {
    readonly document: YamlDocument
    readonly implication: ScopeImplication
    readonly locationOf: (route: CompiledRoute) => SourceLocation
  },
): readonly Diagnostic[] {
  const { method, servedPath: path, access, securityAt } = operation
  const what = `${method} ${path}`
  const location = document.locationOf(securityAt)
  const related = [{ message: `the route ${route.policy.name}`, location: locationOf(route) }]
  const diagnostics: Diagnostic[] = []
  const rule = access.scopes
  const wanted: ScopeCheck | undefined =
    rule === undefined
      ? undefined
      : compileScopeCheck({ all: rule.all ?? [], any: rule.any ?? [] }, implication)
  const { gains, loses } = compareScopes(wanted, route.access.scopes)
  if (gains || loses) {
    const said = `${describeScopes(wanted)} in the contract, ${describeScopes(route.access.scopes)} in the policy`
    const hint =
      gains && loses
        ? 'the policy allows other callers'
        : gains
          ? 'the policy allows more callers'
          : 'the policy allows fewer callers'
    diagnostics.push(diagnostic('O303', `${what} has different scopes: ${said}`, location, { hint, related }))
  }
  const [contract, policy] = [access.anonymous, route.access.anonymous].map((one) => one === 'allow')
  if (contract !== policy) {
    const [yes, no] = contract === true ? ['contract', 'policy'] : ['policy', 'contract']
    const message = `${what} is open to callers without a token in the ${yes}, but not in the ${no}`
    diagnostics.push(diagnostic('O304', message, location, { related }))
  }
  return diagnostics
}
