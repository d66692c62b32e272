import type { Diagnostic } from '../platform/diagnostics/diagnostic.ts'
import { formatDiagnostics } from '../platform/diagnostics/format-diagnostics.ts'
import { problemToJson } from './commands/check/render-json.ts'
import type { Folders } from './find-folders.ts'
import { type OpenedPolicySet, openPolicySet, type PolicySet } from './open-policy-set.ts'
import type { Terminal } from './terminal.ts'
import type { ParsedArguments } from './verb.ts'

/**
 * Opens the policies for a verb that needs valid policies. Prints errors like `check`: on standard error, or with
 * `--json` on standard output.
 * @returns undefined when there are errors, and the verb exits with code 3.
 */
export async function openOrReport(
  folders: Folders,
  given: Pick<ParsedArguments, 'has'>,
  terminal: Terminal,
): Promise<PolicySet | undefined> {
  const opened: OpenedPolicySet = await openPolicySet({ ...folders, env: terminal.env })
  const errors: readonly Diagnostic[] = opened.problems.filter(({ severity }) => severity === 'error')
  if (errors.length > 0 && given.has('json'))
    terminal.out.write(`${JSON.stringify({ problems: errors.map(problemToJson) }, undefined, 2)}\n`)
  else if (errors.length > 0)
    terminal.err.write(`${formatDiagnostics(errors, { colour: terminal.colour })}\n`)
  return opened.set
}
