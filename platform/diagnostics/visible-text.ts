/**
 * Text of others as it may stand in a terminal: control, format and bidirectional characters are written out, so that nobody
 * rewrites what stands around it. Line breaks and tabs are among them.
 */
export function visibleText(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replace(/\p{Surrogate}/gu, '\\u{fffd}')
}
