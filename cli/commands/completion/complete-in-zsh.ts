import type { Verb, VerbOption } from '../../verb.ts'
import { secondWords } from './complete-in-bash.ts'
import { takesAFile } from './takes-a-file.ts'
import { wordChoices } from './word-choices.ts'

/** Returns a completion function for zsh's `$fpath`. */
export function completeInZsh(verbs: readonly Verb[]): string {
  const described = (name: string, summary: string): string =>
    quote(`${name}:${summary.replaceAll(':', '\\:')}`)
  const firsts = [
    ...verbs.filter(({ name }) => !name.includes(' ')).map(({ name, summary }) => described(name, summary)),
    ...secondWords(verbs).map(([first, seconds]) => described(first, seconds.join(', '))),
    described('help', 'shows what a verb takes'),
  ]
  const cases = verbs.map((verb) => {
    const { name, options, words } = verb
    const choices = wordChoices(verb)
    const specs = [
      ...options.map(optionSpec),
      quote('--help[shows what the verb takes]'),
      ...(words === undefined
        ? []
        : [quote(choices === undefined ? '*: :_files' : `1: :(${choices.join(' ')})`)]),
    ]
    const skip = name.split(' ').length
    const pattern = skip === 1 ? `${quote(`${name} `)}*` : `${quote(name)}*`
    return `    ${pattern})\n      shift ${skip} words; (( CURRENT -= ${skip} ))\n      _arguments -s : ${specs.join(' \\\n        ')} ;;`
  })
  const seconds = secondWords(verbs).map(
    ([first, all]) => `    ${quote(first)}*) compadd ${all.join(' ')} ;;`,
  )
  // Verbs with two words come first, because zsh uses the first matching pattern.
  const ordered = [
    ...cases.filter((_, at) => verbs[at]?.name.includes(' ')),
    ...cases.filter((_, at) => !verbs[at]?.name.includes(' ')),
  ]
  return `#compdef scopegate
# zsh completion of scopegate; made by: scopegate completion zsh
_scopegate() {
  local -a verbs
  verbs=(
    ${firsts.join('\n    ')}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    _arguments '--help[shows every verb]' '--version[shows the version]'
    return
  fi
  case "$words[2] $words[3]" in
${ordered.join('\n')}
${seconds.join('\n')}
  esac
}
_scopegate "$@"
`
}

function optionSpec(option: VerbOption): string {
  const { name, value, says, choices, repeated } = option
  const text = says.replace(/[[\]:\\]/g, '\\$&')
  const many = repeated === true ? '*' : ''
  if (value === undefined) return quote(`${many}--${name}[${text}]`)
  const action =
    choices !== undefined
      ? `(${choices.join(' ')})`
      : value === 'DIR'
        ? '_files -/'
        : takesAFile(option)
          ? '_files'
          : ' '
  return quote(`${many}--${name}=[${text}]:${value}:${action}`)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
