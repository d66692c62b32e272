import type { Verb } from '../../verb.ts'

/** Returns the choices of a verb with a fixed set of arguments: `bash|zsh|fish`. Undefined for other verbs. */
export function wordChoices({ words }: Verb): readonly string[] | undefined {
  return words?.usage.includes('|') === true ? words.usage.split('|') : undefined
}
