import type { Verb, VerbOption } from '../../verb.ts'
import { secondWords } from './complete-in-bash.ts'
import { takesAFile } from './takes-a-file.ts'
import { wordChoices } from './word-choices.ts'

/** Returns a fish script. `-f` stops fish from offering files for the first words. */
export function completeInFish(verbs: readonly Verb[]): string {
  const top = [
    ...verbs.filter(({ name }) => !name.includes(' ')).map(({ name, summary }) => [name, summary] as const),
    ...secondWords(verbs).map(([first, seconds]) => [first, seconds.join(', ')] as const),
    ['help', 'shows what a verb takes'] as const,
  ]
  const lines = [
    ...top.map(([word, says]) => `${complete('__scopegate_next')} -f -a ${word} -d ${quote(says)}`),
    `${complete('__scopegate_next')} -f -l help -d 'shows every verb'`,
    `${complete('__scopegate_next')} -f -l version -d 'shows the version'`,
    ...secondWords(verbs).flatMap(([first, seconds]) =>
      seconds.map((second) => {
        const summary = verbs.find(({ name }) => name === `${first} ${second}`)?.summary ?? ''
        return `${complete(`__scopegate_next ${first}`)} -f -a ${second} -d ${quote(summary)}`
      }),
    ),
    ...verbs.flatMap(ofVerb),
  ]
  return `# fish completion of scopegate; made by: scopegate completion fish
function __scopegate_said
  set -l words (commandline -opc)
  set -l last (math 1 + (count $argv))
  test (count $words) -ge $last; or return 1
  test $last -eq 1; or test "$words[2..$last]" = "$argv"
end
function __scopegate_next
  test (count (commandline -opc)) -eq (math 1 + (count $argv)); and __scopegate_said $argv
end
${lines.join('\n')}
`
}

function ofVerb(verb: Verb): readonly string[] {
  const { name, words, options } = verb
  const choices = wordChoices(verb)
  const isSaid = complete(`__scopegate_said ${name}`)
  return [
    ...(choices === undefined ? [] : [`${isSaid} -f -a ${quote(choices.join(' '))}`]),
    ...(words === undefined ? [`${isSaid} -f`] : []),
    ...options.map((option) => `${isSaid} -l ${option.name}${ofValue(option)} -d ${quote(option.says)}`),
    `${isSaid} -l help -d 'shows what the verb takes'`,
  ]
}

function ofValue(option: VerbOption): string {
  const { value, choices } = option
  if (value === undefined) return ''
  if (choices !== undefined) return ` -x -a ${quote(choices.join(' '))}`
  if (value === 'DIR') return " -x -a '(__fish_complete_directories)'"
  return takesAFile(option) ? ' -rF' : ' -x'
}

function complete(condition: string): string {
  return `complete -c scopegate -n ${quote(condition)}`
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
