import { suggest } from '../platform/diagnostics/schema/suggest.ts'
import type { Command } from './command.ts'
import { COMMANDS } from './commands.ts'
import { formatCommandHelp, formatHelp } from './format-help.ts'
import { readArguments } from './read-arguments.ts'
import { processTerminal, type Terminal } from './terminal.ts'
import { formatUsageError } from './usage-error.ts'

const EXIT_USAGE = 2

/**
 * Runs the command line.
 * @returns the exit code (see `--help`), or undefined if the command started a service. The process then continues to
 * run.
 */
export async function main(
  args: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number | undefined> {
  const { out, err } = terminal
  const usageError = (text: string, command?: Command): number => {
    const see = command === undefined ? 'scopegate --help' : `scopegate ${command.name} --help`
    err.write(
      formatUsageError(`scopegate: ${text}${text.endsWith('?') ? '' : '.'} See: ${see}`, wantsJson(args)),
    )
    return EXIT_USAGE
  }
  const [first] = args
  if (first === undefined) return usageError('a command is missing')
  if (first === '--version' || first === '-v') {
    const { readPackageVersion } = await import('../platform/process/package-version.ts')
    out.write(`${readPackageVersion()}\n`)
    return 0
  }
  // Hidden command: only the completion scripts call this command.
  if (first === '__complete') {
    const { complete } = await import('./commands/completion/complete.ts')
    out.write(
      complete(args.slice(1), COMMANDS)
        .map((line) => `${line}\n`)
        .join(''),
    )
    return 0
  }
  const isHelp = wantsHelp(args)
  const said = first === 'help' ? args.slice(1) : args
  const command = findCommand(said)
  if (isHelp && (command !== undefined || said[0] === undefined || said[0].startsWith('-'))) {
    out.write(command === undefined ? formatHelp(COMMANDS) : formatCommandHelp(command))
    return 0
  }
  if (command === undefined) return usageError(unknownCommand(said))

  const read = readArguments(command, args.slice(command.name.split(' ').length))
  if ('wrong' in read) return usageError(read.wrong, command)
  try {
    return await command.run(read.given, terminal)
  } catch (error) {
    const { reportFailure } = await import('./failures.ts')
    return reportFailure(error, read.given, terminal)
  }
}

function wantsHelp(args: readonly string[]): boolean {
  return args[0] === 'help' || optionsOf(args).some((one) => one === '--help' || one === '-h')
}

/** The arguments can be wrong, so only `--json` itself counts. */
function wantsJson(args: readonly string[]): boolean {
  return optionsOf(args).includes('--json')
}

/** Returns the arguments before `--`. */
function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end)
}

/** Finds the command with the longest matching name, e.g. `account add` before `account`. */
function findCommand(args: readonly string[]): Command | undefined {
  return COMMANDS.toSorted((a, b) => b.name.length - a.name.length).find(
    ({ name }) => name === args.slice(0, name.split(' ').length).join(' '),
  )
}

/** Commands of other tools, and the equivalent command of Scopegate. */
const EQUIVALENTS: Readonly<Record<string, string>> = {
  validate: '`scopegate check`',
  lint: '`scopegate check`',
  verify: '`scopegate check`',
  format: '`scopegate fmt`',
  new: '`scopegate init`',
  create: '`scopegate init`',
  version: '`scopegate --version`',
  serve: '`scopegate dev` on this machine or `scopegate gateway` in production',
  server: '`scopegate dev` on this machine or `scopegate gateway` in production',
  start: '`scopegate dev` on this machine or `scopegate gateway` in production',
  run: '`scopegate dev` on this machine or `scopegate gateway` in production',
}

function unknownCommand(args: readonly string[]): string {
  const typed = args[0] ?? ''
  const equivalent = Object.hasOwn(EQUIVALENTS, typed) ? EQUIVALENTS[typed] : undefined
  if (equivalent !== undefined) return `\`${typed}\` is not a command; use ${equivalent}`
  const longer = COMMANDS.filter(({ name }) => name.startsWith(`${typed} `)).map(({ name }) => name)
  const names = COMMANDS.map(({ name }) => name)
  // Compares as many words as the command has, so that `acount add` matches `account add`.
  const near =
    longer[0] ??
    names.find((name) => suggest(args.slice(0, name.split(' ').length).join(' '), [name]) !== undefined)
  const what = `there is no \`scopegate ${typed}\``
  return near === undefined ? what : `${what}; did you mean \`scopegate ${near}\`?`
}
