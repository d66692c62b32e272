import type { VerbOption } from '../../verb.ts'

/** Returns true when the placeholder of the option's value names a file. */
export function takesAFile({ value }: VerbOption): boolean {
  return value === 'FILE' || value === 'POLICY'
}
