import type { Command } from './command.ts'

/** Maximum line width in columns. */
const WIDTH = 110

/** Returns the text of `scopegate --help`: one line per command. */
export function formatHelp(commands: readonly Command[]): string {
  const groups = [...new Set(commands.map(({ group }) => group))].map((group) => {
    const rows = commands
      .filter((command) => command.group === group)
      .map(({ name, summary }) => [name, summary] as const)
    return `${group}\n${formatRows(rows, widest(commands.map(({ name }) => name)))}`
  })
  return `scopegate - one address in front of many APIs: validates every access token and enforces the scopes that policies declare

Usage
  scopegate COMMAND [options]
  scopegate COMMAND --help      the options of a command, with an example
  scopegate --version

${groups.join('\n\n')}

Exit codes
  0 success    1 negative result or failure    2 wrong usage    3 invalid configuration or policies    4 tests failed
`
}

/** Returns the text of `scopegate COMMAND --help`. */
export function formatCommandHelp(command: Command): string {
  const options = command.options.map((option) => {
    const description = [option.description, ...(option.repeated === true ? ['May be repeated.'] : [])].join(
      ' ',
    )
    return [formatOption(option), description] as const
  })
  const exits = Object.entries({ ...command.exits, 2: 'wrong usage' })
  const sections = [
    `scopegate ${command.name} - ${command.summary}`,
    ...(command.about ?? []).map((paragraph) => wrap(paragraph, WIDTH).join('\n')),
    `Usage\n  ${formatUsage(command)}`,
    ...(options.length === 0
      ? []
      : [`Options\n${formatRows(options, widest(options.map(([name]) => name)))}`]),
    `Exit codes\n${exits.map(([code, meaning]) => `  ${code}  ${meaning}`).join('\n')}`,
    `${command.examples.length === 1 ? 'Example' : 'Examples'}\n${command.examples
      .map(({ commandLine, description }) => `  ${commandLine}\n      ${description}`)
      .join('\n')}`,
  ]
  return `${sections.join('\n\n')}\n`
}

/** Returns `scopegate check [PATH …] [--config DIR]`, or `[options]` in place of a long list. */
function formatUsage({ name, options, positionals }: Command): string {
  const all = options.map((option) => `[${formatOption(option)}]${option.repeated === true ? ' …' : ''}`)
  const shown = all.join(' ').length > WIDTH - 40 ? ['[options]'] : all
  const after = positionals === undefined ? [] : [positionals.usage]
  return ['scopegate', name, ...after, ...shown].join(' ')
}

/** Returns `--format pretty|json`, `--config DIR` or `--json`. */
function formatOption({ name, value, choices }: Command['options'][number]): string {
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

/** Returns the list of commands for docs/command-line.md as Markdown, from the same data as `--help`. */
export function formatReference(commands: readonly Command[]): string {
  return commands.map(formatCommand).join('\n\n')
}

function formatCommand(command: Command): string {
  const options = command.options.map(
    (option) =>
      `| \`${formatOption(option).replaceAll('|', '\\|')}\` | ${escapeCell(option.description)}${option.repeated === true ? ' May be repeated.' : ''} |`,
  )
  const exits = Object.entries({ ...command.exits, 2: 'wrong usage' }).map(
    ([code, meaning]) => `${code} ${meaning}`,
  )
  return [
    `### scopegate ${command.name}`,
    `${capital(command.summary)}.`,
    ...(command.about ?? []),
    `\`\`\`sh\n${[`# ${formatUsage(command)}`, ...command.examples.map(({ commandLine }) => commandLine)].join('\n')}\n\`\`\``,
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
