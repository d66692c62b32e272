import type { Command, CommandOption } from '../../command.ts'

/**
 * Returns the candidates for the last word, one per line: the word, a tab and a description. The lines `:files` and
 * `:folders` stand for paths that the shell completes.
 * @param words the words after `scopegate`, up to the cursor. The last word may be empty.
 */
export function complete(words: readonly string[], commands: readonly Command[]): readonly string[] {
  const { before, prefix, current } = splitAtCursor(words)
  const command = commands.find(({ name }) => `${before.join(' ')} `.startsWith(`${name} `))
  const candidates =
    command === undefined ? nextCommandWords(before, commands) : argumentsOf(command, before, current)
  return candidates.flatMap((line) => {
    if (line.startsWith(':')) return [line]
    return line.startsWith(current) ? [prefix + line] : []
  })
}

/** Treats `--name=value` as two words. Bash passes `=` as a separate word. */
function splitAtCursor(words: readonly string[]) {
  const last = words.at(-1) ?? ''
  const before = words.slice(0, -1).filter((word) => word !== '=')
  const [prefix = '', name = ''] = /^(--[^=]+)=/.exec(last) ?? []
  if (prefix !== '') return { before: [...before, name], prefix, current: last.slice(prefix.length) }
  return { before, prefix, current: last === '=' ? '' : last }
}

function nextCommandWords(before: readonly string[], commands: readonly Command[]): readonly string[] {
  const typed = before.map((word) => `${word} `).join('')
  const next = commands.flatMap(({ name, summary }) => {
    const [word, ...others] = name.startsWith(typed) ? name.slice(typed.length).split(' ') : []
    return word === undefined ? [] : [`${word}\t${others.length === 0 ? summary : others.join(' ')}`]
  })
  if (before.length > 0) return next
  return [
    ...next,
    'help\tshows the options of a command',
    '--help\tshows every command',
    '--version\tshows the version',
  ]
}

function argumentsOf(
  { positionals, options }: Command,
  before: readonly string[],
  current: string,
): readonly string[] {
  const option = options.find(({ name, value }) => value !== undefined && before.at(-1) === `--${name}`)
  if (option !== undefined) return valuesOf(option)
  if (current.startsWith('-'))
    return [
      ...options.map(({ name, description }) => `--${name}\t${description}`),
      '--help\tshows the options of the command',
    ]
  if (positionals?.usage.includes('|') === true) return positionals.usage.split('|')
  return positionals === undefined ? [] : [':files']
}

function valuesOf({ value, choices }: CommandOption): readonly string[] {
  if (choices !== undefined) return choices
  if (value === 'DIR') return [':folders']
  return value === 'FILE' || value === 'POLICY' ? [':files'] : []
}
