import { BootError } from '../platform/diagnostics/boot-error.ts'

/** Something on the command line that only the verb itself can know to be wrong; exit code 2. */
export function usageError(verb: string, text: string): BootError {
  return new BootError('ERR_USAGE', `scopegate: ${text}. See: scopegate ${verb} --help`, { exitCode: 2 })
}
