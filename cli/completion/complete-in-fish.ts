import type { Verb } from '../verb.ts'

/** A fish script. */
export function completeInFish(verbs: readonly Verb[]): string {
  const lines = verbs.flatMap(({ name, summary, options }) => {
    const [first = '', second] = name.split(' ')
    const isGiven =
      second === undefined ? `__fish_seen_subcommand_from ${first}` : `__scopegate_said ${first} ${second}`
    return [
      second === undefined
        ? `complete -c scopegate -f -n __fish_use_subcommand -a ${first} -d ${quote(summary)}`
        : `complete -c scopegate -f -n __fish_use_subcommand -a ${first}`,
      ...(second === undefined
        ? []
        : [
            `complete -c scopegate -f -n '__scopegate_said ${first}; and not __scopegate_said ${first} ${second}' -a ${second} -d ${quote(summary)}`,
          ]),
      ...options.map((option) => {
        const value =
          option.value === undefined
            ? ''
            : option.choices !== undefined
              ? ` -x -a ${quote(option.choices.join(' '))}`
              : option.value === 'DIR'
                ? " -x -a '(__fish_complete_directories)'"
                : option.value === 'FILE'
                  ? ' -r'
                  : ' -x'
        return `complete -c scopegate -n '${isGiven}' -l ${option.name}${value} -d ${quote(option.says)}`
      }),
    ]
  })
  return `# fish completion of scopegate; made by: scopegate completion fish
function __scopegate_said
  set -l words (commandline -opc)
  test (count $words) -gt (count $argv); and test "$words[2..(math 1 + (count $argv))]" = "$argv"
end
${lines.join('\n')}
`
}

function quote(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
