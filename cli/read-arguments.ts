import { parseArgs } from 'node:util'
import { suggest } from '../platform/diagnostics/schema/suggest.ts'
import type { Command, CommandOption, ParsedArguments } from './command.ts'

/** Parses the arguments of a command. `--` ends the options. @returns the arguments, or an error message. */
export function readArguments(
  command: Pick<Command, 'name' | 'options' | 'positionals'>,
  args: readonly string[],
): { readonly given: ParsedArguments } | { readonly wrong: string } {
  const known = new Map(command.options.map((option) => [option.name, option]))
  const { tokens } = parseArgs({
    args: args.map((arg) => (DASHED_ID.test(arg) ? MARK + arg : arg)),
    options: Object.fromEntries(
      command.options.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' : 'string' }]),
    ),
    strict: false,
    tokens: true,
  })
  const values = new Map<string, string[]>()
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(withoutMark(token.value))
    if (token.kind !== 'option') continue
    const option = known.get(token.name)
    if (option === undefined)
      return { wrong: unknownOption(command, token.rawName, args[token.index] ?? token.rawName) }
    const wrong = wrongValue(option, token, values.has(option.name))
    if (wrong !== undefined) return { wrong }
    values.set(option.name, [...(values.get(option.name) ?? []), withoutMark(token.value ?? '')])
  }
  const wrong = wrongWords(command, words)
  if (wrong !== undefined) return { wrong }
  return {
    given: {
      positionals: words,
      has: (name) => values.has(name),
      text: (name) => values.get(name)?.[0],
      texts: (name) => values.get(name) ?? [],
    },
  }
}

/**
 * Matches an ID that begins with `-`. The IDs of clients, grants, sessions and signing keys are 32 bytes as base64url,
 * and can begin with `-`. No option has this length.
 */
const DASHED_ID = /^-[\w-]{42}$/
/**
 * This prefix of an ID prevents that the parser reads the ID as options. An argument of a process never contains NUL.
 */
const MARK = '\0'

function withoutMark(value: string): string {
  return value.startsWith(MARK) ? value.slice(MARK.length) : value
}

/** @param argument the complete argument. `option` is `-a` for the argument `-abc`. */
function unknownOption(
  { name, options, positionals }: Pick<Command, 'name' | 'options' | 'positionals'>,
  option: string,
  argument: string,
): string {
  const unknown = `\`scopegate ${name}\` has no option ${option}`
  const near = suggest(option.replace(/^-+/, ''), [...options.map((known) => known.name), 'help'])
  if (near !== undefined) return `${unknown}; did you mean --${near}?`
  // Names and hashes can begin with `-`.
  return positionals === undefined
    ? unknown
    : `${unknown}; if "${argument}" is an argument, write it last, after --: scopegate ${name} -- ${argument}`
}

function wrongValue(
  option: CommandOption,
  token: { readonly value: string | undefined; readonly inlineValue: boolean | undefined },
  isThere: boolean,
): string | undefined {
  const { name, value, choices } = option
  if (isThere && option.repeated !== true) return `--${name} must not be repeated`
  if (value === undefined) return token.value === undefined ? undefined : `--${name} takes no value`
  if (token.value === undefined) return `--${name} takes a value: --${name} ${value}`
  // An argument in the form of an option is not a value, so the value is missing. `-` stands for standard input.
  if (token.inlineValue !== true && /^-./.test(token.value))
    return `--${name} takes a value, and "${token.value}" looks like an option; if it is the value, write --${name}=${token.value}`
  if (choices !== undefined && !choices.includes(token.value)) {
    const near = suggest(token.value, choices)
    return `--${name} is one of ${choices.join(', ')}, not "${token.value}"${near === undefined ? '' : `; did you mean ${near}?`}`
  }
  return undefined
}

function wrongWords(
  { name, positionals: expected }: Pick<Command, 'name' | 'positionals'>,
  words: readonly string[],
): string | undefined {
  if (words.length >= (expected?.min ?? 0) && words.length <= (expected?.max ?? 0)) return undefined
  const shown = words.length === 0 ? 'nothing' : `"${words.join(' ')}"`
  return `\`scopegate ${name}\` takes ${expected === undefined ? 'options only' : expected.usage}, not ${shown}`
}
