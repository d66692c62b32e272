/**
 * Exit code of a process that cannot start: 1 environment failure, 2 wrong usage, 3 invalid configuration or policies.
 */
export type BootExitCode = 1 | 2 | 3

/**
 * A start failure that an operator can fix. The message contains the problem, its location and a solution.
 * The entry point of the process prints it without a stack.
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
