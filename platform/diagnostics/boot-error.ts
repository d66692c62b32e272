/** How a process ends when it cannot start: 1 the machine said no, 2 wrong usage, 3 invalid configuration or policies. */
export type BootExitCode = 1 | 2 | 3

/**
 * A reason not to start that an operator can act on. The message says what happened, where, and what to do;
 * whoever boots the process prints it without a stack.
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
