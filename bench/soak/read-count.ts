import { parseArgs } from 'node:util'
import { BenchError } from '../bench-error.ts'

/**
 * Reads the option `--<option> N`. N is an integer of 1 or more. Returns undefined without the option.
 * @throws {BenchError} ERR_BENCH_USAGE for any other argument.
 */
export function readCount(args: readonly string[], option: string): number | undefined {
  const text = parse(args, option)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new BenchError(
      'ERR_BENCH_USAGE',
      `--${option} must be an integer from 1 to 999999999 (got "${text}").`,
    )
  return Number(text)
}

function parse(args: readonly string[], option: string): string | undefined {
  try {
    const { values } = parseArgs({ args: [...args], options: { [option]: { type: 'string' } } })
    const value = values[option]
    return typeof value === 'string' ? value : undefined
  } catch (cause) {
    throw new BenchError('ERR_BENCH_USAGE', cause instanceof Error ? cause.message : String(cause), { cause })
  }
}
