import { ConfigError } from '../platform/diagnostics/config-error.ts'
import { reportBootError } from '../platform/process/report-boot-error.ts'
import { problemToJson } from './commands/check/render-json.ts'
import type { ParsedArguments } from './read-arguments.ts'
import type { Terminal } from './terminal.ts'

/**
 * Tells why a verb could not go on: on standard error, but what is wrong with configuration, with `--json`, on standard output as
 * `check` prints it.
 * @returns the exit code.
 */
export function reportFailure(
  error: unknown,
  given: Pick<ParsedArguments, 'has'>,
  { out, err }: Terminal,
): number {
  if (!(error instanceof ConfigError && given.has('json'))) return reportBootError(error, err)
  out.write(`${JSON.stringify({ problems: error.diagnostics.map(problemToJson) }, undefined, 2)}\n`)
  return error.exitCode
}
