/**
 * Escapes untrusted text for a terminal: control, format and bidirectional characters become `\u{…}`. Otherwise the
 * text could change the rest of the output. Line breaks and tabs are also escaped.
 */
export function visibleText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escapeCharacter).replace(/\p{Surrogate}/gu, '\\u{fffd}')
}

/** Escapes bidirectional control characters in the same way. These could reverse the text around them on a page. */
export function visibleDirection(text: string): string {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`
}
