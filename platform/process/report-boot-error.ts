import { BootError } from '../diagnostics/boot-error.ts'

/**
 * Tells an operator on standard error why the process does not start, and gives the exit code to end with.
 * A BootError is explained already, so it is shown without a stack; anything else is a defect of ours and keeps it.
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
