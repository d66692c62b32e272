import { BootError } from '../diagnostics/boot-error.ts'

/**
 * Prints the reason for a failed start on standard error and returns the exit code.
 * Prints a BootError without its stack, because its message explains the failure. Other errors are defects, so their
 * stack is printed.
 */
export function reportBootError(
  error: unknown,
  err: { write(text: string): unknown } = process.stderr,
): number {
  if (error instanceof BootError) {
    err.write(`${error.message}\n`)
    return error.exitCode
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  err.write(`scopegate: an unexpected error, please report it:\n${detail}\n`)
  return 1
}
