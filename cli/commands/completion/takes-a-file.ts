import type { VerbOption } from '../../verb.ts'

/** Whether the value of an option is a file, by what it is called. */
export function takesAFile({ value }: VerbOption): boolean {
  return value === 'FILE' || value === 'POLICY'
}
