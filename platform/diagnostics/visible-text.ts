/**
 * Escapes untrusted text for a terminal: control, format and bidirectional characters become `\u{…}`. Otherwise the
 * text could change the rest of the output. Line breaks and tabs are also escaped.
 */
export function visibleText(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    .replace(/\p{Surrogate}/gu, '\\u{fffd}')
}
