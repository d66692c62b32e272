import type { Diagnostic } from './diagnostic.ts'
import { formatDiagnostics } from './format-diagnostics.ts'

/**
 * Exit code of a process that cannot start: 1 environment failure, 2 wrong usage, 3 invalid configuration or policies.
 */
type BootExitCode = 1 | 2 | 3

/**
 * A start failure that an operator can fix. The message contains the problem, its location and a solution.
 * The entry point of the process prints the message without a stack.
 */
export class BootError extends Error {
  readonly code: string
  readonly exitCode: BootExitCode

  constructor(code: string, message: string, options: { cause?: unknown; exitCode?: BootExitCode } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'BootError'
    this.code = code
    this.exitCode = options.exitCode ?? 1
  }
}

const EXIT_INVALID = 3 // `scopegate check` and every service use the same number

/** Invalid configuration or policies. The message lists every problem. Code ERR_CONFIG_INVALID, exit code 3. */
export class ConfigError extends BootError {
  readonly diagnostics: readonly Diagnostic[]

  constructor(diagnostics: readonly Diagnostic[]) {
    super('ERR_CONFIG_INVALID', formatDiagnostics(diagnostics), { exitCode: EXIT_INVALID })
    this.name = 'ConfigError'
    this.diagnostics = diagnostics
  }
}
