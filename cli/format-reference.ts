import { formatOption, formatUsage } from './format-help.ts'
import type { Verb } from './verb.ts'

/** Returns the list of verbs for docs/command-line.md as Markdown, from the same data as `--help`. */
export function formatReference(verbs: readonly Verb[]): string {
  return verbs.map(formatVerb).join('\n\n')
}

function formatVerb(verb: Verb): string {
  const options = verb.options.map(
    (option) =>
      `| \`${formatOption(option).replaceAll('|', '\\|')}\` | ${escapeCell(option.says)}${option.repeated === true ? ' May be repeated.' : ''} |`,
  )
  const exits = Object.entries({ ...verb.exits, 2: 'wrong usage' }).map(
    ([code, meaning]) => `${code} ${meaning}`,
  )
  return [
    `### scopegate ${verb.name}`,
    `${capital(verb.summary)}.`,
    ...(verb.about ?? []),
    `\`\`\`sh\n${[`# ${formatUsage(verb)}`, ...verb.examples.map(({ command }) => command)].join('\n')}\n\`\`\``,
    ...(options.length === 0 ? [] : [`| option | says |\n| --- | --- |\n${options.join('\n')}`]),
    `Exit codes: ${exits.join('; ')}.`,
  ].join('\n\n')
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|')
}
