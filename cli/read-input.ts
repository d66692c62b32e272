import type { Terminal } from './terminal.ts'

/**
 * Reads standard input to its end, at most `limitBytes` bytes.
 * @returns the text, or undefined when it is longer.
 */
export async function readInput(
  { input }: Pick<Terminal, 'input'>,
  limitBytes: number,
): Promise<string | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of input) {
    const buffer = Buffer.from(part)
    bytes += buffer.length
    if (bytes > limitBytes) return undefined
    parts.push(buffer)
  }
  return Buffer.concat(parts).toString('utf8')
}
