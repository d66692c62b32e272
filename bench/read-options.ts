import { parseArgs } from 'node:util'
import { BenchError } from './bench-error.ts'

/** Number and duration of the rounds. */
export type Options = {
  readonly rounds: number
  readonly roundSeconds: number
  readonly warmUpSeconds: number
}

const DEFAULTS: Options = { rounds: 7, roundSeconds: 2, warmUpSeconds: 3 }

/**
 * Reads the command line: `--rounds N --seconds N`, whole numbers from 1.
 * @throws {BenchError} ERR_BENCH_USAGE for anything else.
 */
export function readOptions(args: readonly string[]): Options {
  const { rounds, seconds } = parse(args)
  return {
    rounds: wholeNumber('--rounds', rounds) ?? DEFAULTS.rounds,
    roundSeconds: wholeNumber('--seconds', seconds) ?? DEFAULTS.roundSeconds,
    warmUpSeconds: DEFAULTS.warmUpSeconds,
  }
}

function parse(args: readonly string[]): { rounds?: string | undefined; seconds?: string | undefined } {
  try {
    return parseArgs({
      args: [...args],
      options: { rounds: { type: 'string' }, seconds: { type: 'string' } },
    }).values
  } catch (cause) {
    throw usage(cause instanceof Error ? cause.message : String(cause))
  }
}

function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,3}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw usage(`${option} must be an integer of 1 or more (got "${text}").`)
}

function usage(problem: string): BenchError {
  return new BenchError('ERR_BENCH_USAGE', `${problem}\nUsage: npm run bench -- [--rounds N] [--seconds N]`)
}
