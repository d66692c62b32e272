import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { findConflicts } from '../../policy-engine/checks/find-conflicts.ts'
import { checkDocument } from '../../policy-engine/load/load-policies.ts'
import type { PolicyReferences } from '../read-references.ts'
import { type PolicyHead, toContractPolicy } from './contract-policy.ts'
import type { Operation, SkippedOperation } from './read-operations.ts'

/** Problems of a single route that require a change of the contract: the path is invalid, reserved or internal. */
const CODES = ['P108', 'P302', 'P307']

/** Removes operations that have no valid route in a policy. A route can also conflict with an earlier route. */
export function dropUnsupported(
  document: YamlDocument,
  operations: readonly Operation[],
  head: PolicyHead,
  references: Omit<PolicyReferences, 'problems'>,
): { readonly kept: readonly Operation[]; readonly skipped: readonly SkippedOperation[] } {
  const skipped: SkippedOperation[] = []
  const skip = ({ method, written }: Operation, code: string) => {
    skipped.push({ operation: `${method} ${written}`, code })
    return false
  }
  const options = { ...references, catalogue: undefined }
  const valid = operations.filter((operation) => {
    const { diagnostics } = checkDocument(toContractPolicy(document, [operation], head), options)
    const found = diagnostics.find(({ code }) => CODES.includes(code))
    return found === undefined || skip(operation, found.code)
  })
  // `claims` contains one claim for each valid operation, in the same order.
  const { claims } = checkDocument(toContractPolicy(document, valid, head), options)
  const conflicts = new Map(
    findConflicts(claims)
      .filter(({ severity }) => severity === 'error')
      .map(({ code, location }) => [claims.findIndex((one) => one.location === location), code]),
  )
  const kept = valid.filter((operation, index) => {
    const code = conflicts.get(index)
    return code === undefined || skip(operation, code)
  })
  return { kept, skipped }
}

/** Maximum number of further locations that a report shows for one cause. */
const FURTHER_LOCATIONS = 2

/**
 * Merges problems with the same code and message into one problem at the first location. The message contains the
 * number of merged problems.
 */
export function mergeByCause(problems: readonly Diagnostic[]): readonly Diagnostic[] {
  return [...Map.groupBy(problems, ({ code, message }) => `${code} ${message}`).values()].flatMap((group) => {
    const [first, ...others] = group
    if (first === undefined || others.length === 0) return group
    const related = others
      .slice(0, FURTHER_LOCATIONS)
      .map(({ location }) => ({ message: 'also here', location }))
    return [
      {
        ...first,
        message: `${first.message} (${group.length} places)`,
        related: [...first.related, ...related],
      },
    ]
  })
}
