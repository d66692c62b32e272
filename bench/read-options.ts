import { parseArgs } from 'node:util'
import { BenchError } from './bench-error.ts'

export type Options = {
  /** An empty list selects all rows. */
  readonly rows: readonly string[]
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
  readonly previous: string | undefined
}

const DEFAULTS = { rounds: 7, roundSeconds: 2, warmUpSeconds: 3 }

/**
 * Reads the command line `--row NAME --rounds N --seconds N --previous REVISION`. N is an integer of 1 or more. `--row`
 * can occur several times.
 * @param names the names of all rows.
 * @throws {BenchError} ERR_BENCH_USAGE for other arguments.
 */
export function readOptions(args: readonly string[], names: readonly string[] = []): Options {
  const { row = [], rounds, seconds, previous } = parse(args)
  const unknown = row.find((name) => !names.includes(name))
  if (unknown !== undefined) throw usage(`--row must be one of ${names.join(', ')} (got "${unknown}").`)
  return {
    rows: row,
    rounds: wholeNumber('--rounds', rounds) ?? DEFAULTS.rounds,
    roundSeconds: wholeNumber('--seconds', seconds) ?? DEFAULTS.roundSeconds,
    warmUpSeconds: DEFAULTS.warmUpSeconds,
    previous,
  }
}

function parse(args: readonly string[]): {
  readonly row?: readonly string[] | undefined
  readonly rounds?: string | undefined
  readonly seconds?: string | undefined
  readonly previous?: string | undefined
} {
  try {
    return parseArgs({
      args: [...args],
      options: {
        row: { type: 'string', multiple: true },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        previous: { type: 'string' },
      },
    }).values
  } catch (cause) {
    throw usage(cause instanceof Error ? cause.message : String(cause))
  }
}

function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,3}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw usage(`${option} must be an integer from 1 to 9999 (got "${text}").`)
}

function usage(problem: string): BenchError {
  return new BenchError(
    'ERR_BENCH_USAGE',
    `${problem}\nUsage: npm run bench -- [--row NAME] [--rounds N] [--seconds N] [--previous REVISION]`,
  )
}
