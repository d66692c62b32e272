import type { Verb } from '../../verb.ts'

/** What may stand after a verb that takes one of a few words: `bash|zsh|fish`. Undefined where anything may. */
export function wordChoices({ words }: Verb): readonly string[] | undefined {
  return words?.usage.includes('|') === true ? words.usage.split('|') : undefined
}
