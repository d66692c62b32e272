import type { Verb } from './verb.ts'

/** Maximum line width in columns. */
const WIDTH = 110

/** Returns the text of `scopegate --help`: one line per verb. */
export function formatHelp(verbs: readonly Verb[]): string {
  const groups = [...new Set(verbs.map(({ group }) => group))].map((group) => {
    const rows = verbs
      .filter((verb) => verb.group === group)
      .map(({ name, summary }) => [name, summary] as const)
    return `${group}\n${formatRows(rows, widest(verbs.map(({ name }) => name)))}`
  })
  return `scopegate - one address in front of many APIs: validates every access token and enforces the scopes that policies declare

Usage
  scopegate VERB [options]
  scopegate VERB --help      the options of a verb, with an example
  scopegate --version

${groups.join('\n\n')}

Exit codes
  0 success    1 negative result or failure    2 wrong usage    3 invalid configuration or policies    4 tests failed
`
}

/** Returns the text of `scopegate VERB --help`. */
export function formatVerbHelp(verb: Verb): string {
  const options = verb.options.map((option) => {
    const description = [option.description, ...(option.repeated === true ? ['May be repeated.'] : [])].join(
      ' ',
    )
    return [formatOption(option), description] as const
  })
  const exits = Object.entries({ ...verb.exits, 2: 'wrong usage' })
  const sections = [
    `scopegate ${verb.name} - ${verb.summary}`,
    ...(verb.about ?? []).map((paragraph) => wrap(paragraph, WIDTH).join('\n')),
    `Usage\n  ${formatUsage(verb)}`,
    ...(options.length === 0
      ? []
      : [`Options\n${formatRows(options, widest(options.map(([name]) => name)))}`]),
    `Exit codes\n${exits.map(([code, meaning]) => `  ${code}  ${meaning}`).join('\n')}`,
    `${verb.examples.length === 1 ? 'Example' : 'Examples'}\n${verb.examples
      .map(({ command, description }) => `  ${command}\n      ${description}`)
      .join('\n')}`,
  ]
  return `${sections.join('\n\n')}\n`
}

/** Returns `scopegate check [--config DIR] [PATH ...]`, or `[options]` in place of a long list. */
function formatUsage({ name, options, positionals }: Verb): string {
  const all = options.map((option) => `[${formatOption(option)}]${option.repeated === true ? ' …' : ''}`)
  const shown = all.join(' ').length > WIDTH - 40 ? ['[options]'] : all
  const after = positionals === undefined ? [] : [positionals.usage]
  return ['scopegate', name, ...after, ...shown].join(' ')
}

/** Returns `--format pretty|json`, `--config DIR` or `--json`. */
function formatOption({ name, value, choices }: Verb['options'][number]): string {
  if (value === undefined) return `--${name}`
  return `--${name} ${choices === undefined ? value : choices.join('|')}`
}

function formatRows(rows: readonly (readonly [string, string])[], width: number): string {
  const indent = ' '.repeat(width + 4)
  return rows
    .map(
      ([name, description]) =>
        `  ${name.padEnd(width)}  ${wrap(description, WIDTH - width - 4).join(`\n${indent}`)}`,
    )
    .join('\n')
}

function widest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map((text) => text.length))
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Returns the list of verbs for docs/command-line.md as Markdown, from the same data as `--help`. */
export function formatReference(verbs: readonly Verb[]): string {
  return verbs.map(formatVerb).join('\n\n')
}

function formatVerb(verb: Verb): string {
  const options = verb.options.map(
    (option) =>
      `| \`${formatOption(option).replaceAll('|', '\\|')}\` | ${escapeCell(option.description)}${option.repeated === true ? ' May be repeated.' : ''} |`,
  )
  const exits = Object.entries({ ...verb.exits, 2: 'wrong usage' }).map(
    ([code, meaning]) => `${code} ${meaning}`,
  )
  return [
    `### scopegate ${verb.name}`,
    `${capital(verb.summary)}.`,
    ...(verb.about ?? []),
    `\`\`\`sh\n${[`# ${formatUsage(verb)}`, ...verb.examples.map(({ command }) => command)].join('\n')}\n\`\`\``,
    ...(options.length === 0 ? [] : [`| option | description |\n| --- | --- |\n${options.join('\n')}`]),
    `Exit codes: ${exits.join('; ')}.`,
  ].join('\n\n')
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}
