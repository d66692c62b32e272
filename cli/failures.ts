import { BootError, ConfigError } from '../platform/diagnostics/boot-error.ts'
import { reportBootError } from '../platform/process/report-boot-error.ts'
import type { ParsedArguments } from './command.ts'
import { problemToJson } from './commands/check/render-json.ts'
import type { Terminal } from './terminal.ts'
import { ERR_USAGE, formatUsageError } from './usage-error.ts'

const EXIT_USAGE = 2

/**
 * Prints the reason for a failed command on standard error. With `--json`, prints configuration problems on standard
 * output, because `check` also uses standard output, and prints a usage error as JSON.
 * @returns the exit code.
 */
export function reportFailure(
  error: unknown,
  given: Pick<ParsedArguments, 'has'>,
  { out, err }: Terminal,
): number {
  if (error instanceof BootError && error.exitCode === EXIT_USAGE && given.has('json')) {
    err.write(formatUsageError(error.message, true))
    return error.exitCode
  }
  if (!(error instanceof ConfigError && given.has('json'))) return reportBootError(error, err)
  out.write(`${JSON.stringify({ problems: error.diagnostics.map(problemToJson) }, undefined, 2)}\n`)
  return error.exitCode
}

/** Creates an error for arguments that only the command itself can validate; exit code 2. */
export function usageError(command: string, text: string): BootError {
  return new BootError(ERR_USAGE, `scopegate: ${text}. See: scopegate ${command} --help`, {
    exitCode: EXIT_USAGE,
  })
}
