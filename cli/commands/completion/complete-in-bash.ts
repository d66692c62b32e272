import type { Verb } from '../../verb.ts'
import { takesAFile } from './takes-a-file.ts'
import { wordChoices } from './word-choices.ts'

/**
 * Returns a bash script that also runs in bash 3.2 of macOS. Names of verbs and options contain no special characters
 * of the shell.
 */
export function completeInBash(verbs: readonly Verb[]): string {
  const options = verbs.map(
    ({ name, options: all }) =>
      `    '${name}') words='${[...all.map((one) => `--${one.name}`), '--help'].join(' ')}' ;;`,
  )
  const values = verbs.flatMap(({ name, options: all }) =>
    all.flatMap((one) => {
      const { name: option, value, choices } = one
      if (value === undefined) return []
      const action =
        choices !== undefined
          ? `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$cur"))`
          : value === 'DIR'
            ? 'COMPREPLY=($(compgen -d -- "$cur"))'
            : takesAFile(one)
              ? 'COMPREPLY=($(compgen -f -- "$cur"))'
              : 'COMPREPLY=()'
      return [`    '${name} --${option}') ${action}; return ;;`]
    }),
  )
  const chosen = verbs.flatMap((verb) => {
    const choices = wordChoices(verb)
    return choices === undefined
      ? []
      : [`    '${verb.name}') COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$cur")) ;;`]
  })
  return `# bash completion of scopegate; made by: scopegate completion bash
_scopegate() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" verb='' words='' first
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${verbs
  .filter(({ name }) => name.includes(' '))
  .map(({ name }) => `    '${name}') [ "$COMP_CWORD" -gt 2 ] && verb='${name}' ;;`)
  .join('\n')}
  esac
  if [ -z "$verb" ] && [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${verbs
  .filter(({ name }) => !name.includes(' '))
  .map(({ name }) => `      '${name}') verb='${name}' ;;`)
  .join('\n')}
    esac
  fi
  if [ -z "$verb" ]; then
    if [ "$COMP_CWORD" -eq 1 ]; then
      words='${[...new Set(verbs.map(({ name }) => name.split(' ')[0]))].join(' ')} help --help --version'
    else
      first="\${COMP_WORDS[1]}"
      case "$first" in
${secondWords(verbs)
  .map(([first, seconds]) => `        '${first}') words='${seconds.join(' ')}' ;;`)
  .join('\n')}
      esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case "$verb $prev" in
${values.join('\n')}
  esac
  case "$verb" in
${options.join('\n')}
  esac
  if [ "\${cur#-}" != "$cur" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case "$verb" in
${chosen.join('\n')}
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _scopegate scopegate
`
}

/** Groups the verbs with two words by their first word. */
export function secondWords(verbs: readonly Verb[]): readonly (readonly [string, readonly string[]])[] {
  const pairs = verbs.flatMap(({ name }) => {
    const [first, second] = name.split(' ')
    return first === undefined || second === undefined ? [] : [[first, second] as const]
  })
  return [...Map.groupBy(pairs, ([first]) => first)].map(([first, group]) => [
    first,
    group.map(([, second]) => second),
  ])
}
