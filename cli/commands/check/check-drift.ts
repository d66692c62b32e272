import { statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { readImplication } from '../../../oauth/scope.ts'
import {
  type Diagnostic,
  hasErrors,
  type SourceLocation,
  sortDiagnostics,
} from '../../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { formatDiagnostics } from '../../../platform/diagnostics/format-diagnostics.ts'
import { readTextSource } from '../../../platform/diagnostics/yaml/text-source.ts'
import type { YamlDocument } from '../../../platform/diagnostics/yaml/yaml-document.ts'
import { type CompiledRoute, compilePolicies } from '../../../policy-engine/decide/compile-policies.ts'
import { openPolicySet } from '../../open-policy-set.ts'
import { findDrift } from '../../openapi/find-drift.ts'
import { type ContractChoices, readOperations } from '../../openapi/read-operations.ts'
import type { Terminal } from '../../terminal.ts'
import { problemToJson } from './render-json.ts'

const EXIT_SAME = 0
const EXIT_DIFFERS = 1
const EXIT_INVALID = 3

/** Compares a contract with a policy file or a policy folder, and prints the differences. @returns the exit code. */
export async function checkDrift(
  options: {
    readonly document: YamlDocument
    readonly choices: ContractChoices
    readonly configDir: string
    /** A policy file or a folder of policy files. Absolute. */
    readonly policy: string
    /** Compares only routes to this upstream. Undefined: all routes. */
    readonly upstream: string | undefined
    readonly json: boolean
  },
  { out, err, colour, env }: Terminal,
): Promise<number> {
  const { document, choices, configDir, policy, upstream } = options
  const isFolder = statSync(policy, { throwIfNoEntry: false })?.isDirectory() === true
  const policiesDir = isFolder ? policy : dirname(policy)
  // Reads only the given file, because its folder can contain other policies.
  const policyFile = isFolder ? undefined : basename(policy)
  const { set, problems } = await openPolicySet({ configDir, policiesDir, policyFile, env })
  const { operations, diagnostics } = hasErrors(document.diagnostics)
    ? { operations: [], diagnostics: [] }
    : readOperations(document, choices)
  const broken = [...document.diagnostics, ...diagnostics, ...problems].filter(
    (one) => one.severity === 'error',
  )
  const shownAs = displayPath(policy)
  const routes =
    set?.policies.routes.filter(
      (one) =>
        (isFolder || one.source.file === shownAs) && (upstream === undefined || one.upstream === upstream),
    ) ?? []
  if (broken.length > 0 || set === undefined) return report(broken, EXIT_INVALID)
  if (routes.length === 0) {
    err.write(`scopegate: ${shownAs} contains no route${upstream === undefined ? '' : ` to ${upstream}`}\n`)
    return EXIT_INVALID
  }
  const implication = readImplication(set.catalogue)
  const policies = compilePolicies({ routes, hash: '' }, { implication, resources: set.resources })
  const drift = findDrift({ document, operations, policies, implication, locationOf })
  return report(sortDiagnostics(drift), drift.length > 0 ? EXIT_DIFFERS : EXIT_SAME)

  function report(found: readonly Diagnostic[], exitCode: number): number {
    if (options.json) {
      out.write(
        `${JSON.stringify({ same: exitCode === EXIT_SAME, problems: found.map(problemToJson) }, undefined, 2)}\n`,
      )
      return exitCode
    }
    const target = exitCode === EXIT_INVALID ? err : out
    if (found.length > 0) target.write(`${formatDiagnostics(found, { colour })}\n\n`)
    const places = `${found.length} ${found.length === 1 ? 'place' : 'places'}`
    if (exitCode === EXIT_DIFFERS) out.write(`${document.file} and ${shownAs} differ in ${places}\n`)
    if (exitCode === EXIT_SAME)
      out.write(
        `${document.file} and ${shownAs} agree: ${operations.length} operations, ${routes.length} routes\n`,
      )
    return exitCode
  }
}

/** Returns the route's location, with its source line if the file is readable. */
function locationOf({ policy: { source } }: CompiledRoute): SourceLocation {
  const read = readTextSource(source.file)
  const text = 'text' in read ? read.text.split('\n')[source.line - 1]?.replace(/\r$/, '') : undefined
  const length = text === undefined ? 1 : Math.max(1, text.trimEnd().length - source.column + 1)
  return { ...source, length, text }
}
