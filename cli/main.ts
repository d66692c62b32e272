import { parseArgs } from 'node:util'
import { HELP } from './help.ts'

type Options = Readonly<Record<string, string | undefined>>
type Verb = {
  /** Those that take a value. */
  readonly options: readonly string[]
  /** Those that take none. */
  readonly flags?: readonly string[]
  readonly words: number
  /** Resolves to the exit code, or to undefined when the process goes on serving. */
  run(options: Options, words: readonly string[], flags: ReadonlySet<string>): Promise<number | undefined>
}

// Each verb loads its own code, so that `--help` starts nothing and needs no particular runtime.
const VERBS: Readonly<Record<string, Verb>> = {
  dev: {
    options: ['config', 'policies', 'data'],
    words: 0,
    run: async (options) => (await import('./dev.ts')).dev(options),
  },
  gateway: {
    options: ['config'],
    words: 0,
    run: async (options) => (await import('./run-service.ts')).runService('gateway', options['config']),
  },
  'authorization-server': {
    options: ['config'],
    words: 0,
    run: async (options) =>
      (await import('./run-service.ts')).runService('authorization-server', options['config']),
  },
  check: {
    options: ['config', 'policies'],
    flags: ['notes'],
    words: 0,
    run: async (options, _words, flags) =>
      (await import('./run-check.ts')).runCheck({ ...options, notes: flags.has('notes') }),
  },
  'account add': {
    options: ['config', 'data', 'email', 'full-name'],
    words: 1,
    run: async (options, words) => (await import('./account-add.ts')).accountAdd(words[0] ?? '', options),
  },
}

/**
 * Runs the command line.
 * @returns the exit code (see `--help`), or undefined when a service was started and the process goes on.
 */
export async function main(args: readonly string[]): Promise<number | undefined> {
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') return print(HELP)
  if (args[0] === '--version' || args[0] === '-v') return print(`${await readVersion()}\n`)
  if (args.length === 0) return usageError('say what to do')

  const name = Object.keys(VERBS).find((verb) => verb === args.slice(0, verb.split(' ').length).join(' '))
  const verb = name === undefined ? undefined : VERBS[name]
  if (name === undefined || verb === undefined) return usageError(`there is no \`scopegate ${args[0]}\``)

  try {
    const { values, positionals } = parseArgs({
      args: args.slice(name.split(' ').length),
      options: Object.fromEntries([
        ...verb.options.map((option) => [option, { type: 'string' as const }] as const),
        ...(verb.flags ?? []).map((flag) => [flag, { type: 'boolean' as const }] as const),
      ]),
      allowPositionals: true,
    })
    if (positionals.length !== verb.words)
      return usageError(
        `\`scopegate ${name}\` takes ${verb.words === 1 ? 'one name' : 'options only'}, not ${describeWords(positionals)}`,
      )
    const given = Object.entries(values)
    const options = Object.fromEntries(
      given.flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
    )
    const flags = new Set(given.filter(([, value]) => value === true).map(([key]) => key))
    return await verb.run(options, positionals, flags)
  } catch (error) {
    // What Node.js adds after the first sentence is about a way of writing that no verb here has.
    if (isUsageError(error)) return usageError(error.message.split('. ', 1)[0] ?? '')
    const { reportBootError } = await import('../runtime/report-boot-error.ts')
    return reportBootError(error)
  }
}

function describeWords(words: readonly string[]): string {
  return words.length === 0 ? 'none' : `"${words.join(' ')}"`
}

function isUsageError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
}

function usageError(text: string): number {
  process.stderr.write(`scopegate: ${text}. See: scopegate --help\n`)
  return 2
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

async function readVersion(): Promise<string> {
  const { readPackageVersion } = await import('../runtime/package-version.ts')
  return readPackageVersion()
}
