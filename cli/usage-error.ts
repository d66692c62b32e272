import { BootError } from '../platform/diagnostics/boot-error.ts'

/** Creates an error for arguments that only the verb itself can validate; exit code 2. */
export function usageError(verb: string, text: string): BootError {
  return new BootError('ERR_USAGE', `scopegate: ${text}. See: scopegate ${verb} --help`, { exitCode: 2 })
}
