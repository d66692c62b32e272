import type { Terminal } from '../../terminal.ts'
import { usageError } from '../../usage-error.ts'
import type { ParsedArguments } from '../../verb.ts'
import { VERBS } from '../../verbs.ts'
import { completeInBash } from './complete-in-bash.ts'
import { completeInFish } from './complete-in-fish.ts'
import { completeInZsh } from './complete-in-zsh.ts'

const SHELLS = { bash: completeInBash, zsh: completeInZsh, fish: completeInFish } as const

/** Prints a completion script, created from the same data as `--help`. */
export async function completion(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const [shell = ''] = given.positionals
  const write = Object.entries(SHELLS).find(([name]) => name === shell)?.[1]
  if (write === undefined)
    throw usageError(
      'completion',
      `there is completion for ${Object.keys(SHELLS).join(', ')}, not for "${shell}"`,
    )
  terminal.out.write(write(VERBS))
  return 0
}
