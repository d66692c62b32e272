import { suggest } from '../platform/diagnostics/schema/suggest.ts'
import { formatHelp, formatVerbHelp } from './format-help.ts'
import { readArguments } from './read-arguments.ts'
import { processTerminal, type Terminal } from './terminal.ts'
import type { Verb } from './verb.ts'
import { VERBS } from './verbs.ts'

const EXIT_USAGE = 2

/**
 * Runs the command line.
 * @returns the exit code (see `--help`), or undefined when a service was started and the process keeps running.
 */
export async function main(
  args: readonly string[],
  terminal: Terminal = processTerminal(),
): Promise<number | undefined> {
  const { out, err } = terminal
  const usageError = (text: string, verb?: Verb): number => {
    const see = verb === undefined ? 'scopegate --help' : `scopegate ${verb.name} --help`
    err.write(`scopegate: ${text}${text.endsWith('?') ? '' : '.'} See: ${see}\n`)
    return EXIT_USAGE
  }
  const [first] = args
  if (first === undefined) return usageError('a verb is missing')
  if (first === '--version' || first === '-v') {
    const { readPackageVersion } = await import('../platform/process/package-version.ts')
    out.write(`${readPackageVersion()}\n`)
    return 0
  }
  // Hidden verb: only the completion scripts call this verb.
  if (first === '__complete') {
    const { complete } = await import('./commands/completion/complete.ts')
    out.write(
      complete(args.slice(1), VERBS)
        .map((line) => `${line}\n`)
        .join(''),
    )
    return 0
  }
  const isHelp = wantsHelp(args)
  const said = first === 'help' ? args.slice(1) : args
  const verb = findVerb(said)
  if (isHelp && (verb !== undefined || said[0] === undefined || said[0].startsWith('-'))) {
    out.write(verb === undefined ? formatHelp(VERBS) : formatVerbHelp(verb))
    return 0
  }
  if (verb === undefined) return usageError(unknownVerb(said))

  const read = readArguments(verb, args.slice(verb.name.split(' ').length))
  if ('wrong' in read) return usageError(read.wrong, verb)
  try {
    return await verb.run(read.given, terminal)
  } catch (error) {
    const { reportFailure } = await import('./failures.ts')
    return reportFailure(error, read.given, terminal)
  }
}

function wantsHelp(args: readonly string[]): boolean {
  if (args[0] === 'help') return true
  const end = args.indexOf('--')
  return args.slice(0, end === -1 ? undefined : end).some((one) => one === '--help' || one === '-h')
}

/** Finds the verb with the longest matching name, e.g. `account add` before `account`. */
function findVerb(args: readonly string[]): Verb | undefined {
  return VERBS.toSorted((a, b) => b.name.length - a.name.length).find(
    ({ name }) => name === args.slice(0, name.split(' ').length).join(' '),
  )
}

/** Verbs of other tools, and the equivalent command. */
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

function unknownVerb(args: readonly string[]): string {
  const typed = args[0] ?? ''
  const equivalent = Object.hasOwn(EQUIVALENTS, typed) ? EQUIVALENTS[typed] : undefined
  if (equivalent !== undefined) return `\`${typed}\` is not a verb; use ${equivalent}`
  const longer = VERBS.filter(({ name }) => name.startsWith(`${typed} `)).map(({ name }) => name)
  const names = VERBS.map(({ name }) => name)
  // Compares as many words as the verb has, so that `acount add` matches `account add`.
  const near =
    longer[0] ??
    names.find((name) => suggest(args.slice(0, name.split(' ').length).join(' '), [name]) !== undefined)
  const what = `there is no \`scopegate ${typed}\``
  return near === undefined ? what : `${what}; did you mean \`scopegate ${near}\`?`
}
