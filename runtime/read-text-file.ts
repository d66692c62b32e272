import { readFileSync, statSync } from 'node:fs'
import { type Diagnostic, diagnostic, wholeFile } from './diagnostic.ts'

/** Which family a code belongs to: P for policies, C for configuration. */
export type CodeLetter = 'P' | 'C'

const MAX_BYTES = 262_144 // a hundred times what a file of a team needs; a ConfigMap holds 1 MiB in all

/**
 * Reads a text file that people wrote. A byte order mark is dropped; everything else stays as it is.
 * @returns the text, or the one reason why it cannot be read (codes 001 unreadable, 003 too large, 004 not plain UTF-8).
 */
export function readTextFile(
  file: string,
  options: { readonly shownAs: string; readonly letter: CodeLetter },
): { readonly text: string } | { readonly problem: Diagnostic } {
  const { shownAs, letter } = options
  const fail = (number: string, message: string, hint?: string) => ({
    problem: diagnostic(`${letter}${number}`, message, wholeFile(shownAs), { hint }),
  })
  let bytes: Buffer
  try {
    const status = statSync(file)
    if (status.isDirectory())
      return fail('001', 'this is a folder, not a file', 'give the path of a YAML file')
    if (!status.isFile()) return fail('001', 'this is not a regular file', 'give the path of a YAML file')
    if (status.size > MAX_BYTES) {
      return fail(
        '003',
        `the file has ${status.size} bytes, more than ${MAX_BYTES}`,
        'split it into smaller files',
      )
    }
    bytes = readFileSync(file)
  } catch (error) {
    return fail('001', ...explainReadError(error))
  }
  const mark = bytes.subarray(0, 2).toString('hex')
  if (mark === 'fffe' || mark === 'feff') return fail('004', 'the file is UTF-16 text', 'save it as UTF-8')
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return fail('004', 'the file is not UTF-8 text', 'save it as UTF-8')
  }
}

function explainReadError(error: unknown): [message: string, hint?: string] {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return ['there is no such file', 'create it, or correct the path that names it']
  if (code === 'EACCES' || code === 'EPERM')
    return ['the file may not be read', 'let the user of this process read it']
  if (code === 'ELOOP') return ['the file is a symbolic link that leads to itself', 'correct the link']
  return [`the file cannot be read (${code})`]
}
