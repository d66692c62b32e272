import { MAX_PER_CODE } from '../cap-per-code.ts'
import { type Diagnostic, diagnostic, type SourceLocation } from '../diagnostic.ts'
import type { CodeLetter } from './read-text-file.ts'
import type { YamlRange } from './yaml-places.ts'

/**
 * Finds invisible characters that change the meaning of a file: control characters (004), and indentation with spaces
 * other than U+0020 (011).
 */
export function findUnreadable(
  text: string,
  letter: CodeLetter,
  at: (range: YamlRange) => SourceLocation,
): readonly Diagnostic[] {
  const control = /(?![\t\n\r])\p{Cc}|\r(?!\n)/u.exec(text)
  if (control !== null) {
    const place = at([control.index, control.index + 1])
    if (control[0] === '\r' && !text.includes('\n'))
      return [
        diagnostic(`${letter}004`, 'the lines end with CR only', place, { hint: 'save it with LF or CRLF' }),
      ]
    const message = `the control character ${nameOf(control[0])} is not allowed`
    return [diagnostic(`${letter}004`, message, place, { hint: 'remove it' })]
  }
  const found: Diagnostic[] = []
  for (const one of text.matchAll(/(?<=(?:^|\n)[ \t]*)[\u00a0\u2000-\u200b\u202f\u205f\u3000]+/gu)) {
    const message = `this line is indented with a nonstandard space (${nameOf(one[0])})`
    const place = at([one.index, one.index + one[0].length])
    found.push(diagnostic(`${letter}011`, message, place, { hint: 'use spaces' }))
    if (found.length === MAX_PER_CODE) break
  }
  return found
}

function nameOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}
