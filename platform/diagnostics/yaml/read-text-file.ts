import { type Diagnostic, diagnostic, wholeFile } from '../diagnostic.ts'
import { readTextSource, type TextSource } from './text-source.ts'

/** Prefix of a diagnostic's code: P for policies, C for configuration, O for OpenAPI documents. */
export type CodeLetter = 'P' | 'C' | 'O'

type Naming = { readonly shownAs: string; readonly letter: CodeLetter }

/**
 * Reads a text file and removes its byte order mark. All other content stays unchanged.
 * @param source result of an earlier read.
 * @returns the text, or the reason for the failure (codes 001 unreadable, 003 too large, 004 not plain UTF-8).
 */
export function readTextFile(
  file: string,
  { shownAs, letter }: Naming,
  source: TextSource = readTextSource(file),
): { readonly text: string } | { readonly problem: Diagnostic } {
  if ('text' in source) return source
  const [number, message, hint] = explain(source)
  return { problem: diagnostic(`${letter}${number}`, message, wholeFile(shownAs), { hint }) }
}

function explain(
  source: Exclude<TextSource, { readonly text: string }>,
): [number: string, message: string, hint?: string] {
  switch (source.fault) {
    case 'folder':
      return ['001', 'this is a folder, not a file', 'give the path of a YAML file']
    case 'irregular':
      return ['001', 'this is not a regular file', 'give the path of a YAML file']
    case 'outside':
      return [
        '001',
        'the symbolic link leads outside of the folder of the policy source',
        'replace the link by a copy of the file',
      ]
    case 'too_large':
      return [
        '003',
        `the file has ${source.bytes} bytes, more than ${source.limit}`,
        'split the file into smaller files',
      ]
    case 'utf16':
      return ['004', 'the file is UTF-16 text', 'save the file as UTF-8']
    case 'not_utf8':
      return ['004', 'the file is not UTF-8 text', 'save the file as UTF-8']
    case 'unreadable':
      return ['001', ...explainCode(source.code)]
  }
}

function explainCode(code: string): [message: string, hint?: string] {
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return ['the file does not exist', 'create the file, or correct the path']
  if (code === 'EACCES' || code === 'EPERM')
    return ['permission denied', 'grant read permission to the user of this process']
  if (code === 'ELOOP') return ['the symbolic link is circular', 'correct the link']
  return [`the file cannot be read (${code})`]
}
