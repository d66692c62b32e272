import { styleText } from 'node:util'
import type { Diagnostic, Severity, SourceLocation } from './diagnostic.ts'
import { visibleText } from './visible-text.ts'

const MAX_SHOWN_CHARACTERS = 120 // longer lines are cut around the caret

const COLOURS = { error: 'red', warning: 'yellow', note: 'cyan' } as const satisfies Record<Severity, string>

/**
 * Formats diagnostics in the style of rustc: message, location, source line, a caret under the exact characters, and a
 * hint. The output contains no control characters of a file, and no user names or passwords of addresses.
 */
export function formatDiagnostics(
  diagnostics: readonly Diagnostic[],
  options: { readonly colour?: boolean } = {},
): string {
  const colour = options.colour ?? false
  return diagnostics.map((one) => formatOne(one, colour)).join('\n\n')
}

function formatOne(one: Diagnostic, colour: boolean): string {
  const paint = painter(COLOURS[one.severity], colour)
  const bold = painter('bold', colour)
  const lines = [`${paint(`${one.severity}[${one.code}]`)}${bold(`: ${maskUserInfo(clean(one.message))}`)}`]
  lines.push(...formatLocation(one.location, '-->', one.hint, '^', paint))
  const quiet = painter('blue', colour)
  for (const other of one.related) {
    lines.push(...formatLocation(other.location, ':::', other.message, '-', quiet))
  }
  return lines.join('\n')
}

function formatLocation(
  location: SourceLocation,
  arrow: string,
  hint: string | undefined,
  mark: string,
  paint: (text: string) => string,
): string[] {
  const position = location.line === undefined ? '' : `:${location.line}:${location.column ?? 1}`
  const number = String(location.line ?? '')
  const gutter = ' '.repeat(number.length)
  const lines = [`${gutter} ${arrow} ${clean(location.file)}${position}`]
  const words = hint === undefined ? '' : ` ${clean(hint)}`
  if (location.text === undefined) {
    if (words !== '') lines.push(`${gutter} =${words}`)
    return lines
  }
  const shown = cutAround([...location.text], (location.column ?? 1) - 1)
  const before = shown.characters.slice(0, shown.caretAt).map(clean).join('')
  const marked = shown.characters
    .slice(shown.caretAt, shown.caretAt + location.length)
    .map(clean)
    .join('')
  const after = shown.characters
    .slice(shown.caretAt + location.length)
    .map(clean)
    .join('')
  const caret = mark.repeat(Math.max(1, displayWidth(marked)))
  lines.push(`${gutter} |`)
  lines.push(`${number} | ${maskUserInfo(before + marked + after).trimEnd()}`)
  lines.push(`${gutter} | ${' '.repeat(displayWidth(before))}${paint(caret + words)}`)
  return lines
}

function cutAround(
  characters: readonly string[],
  caretAt: number,
): { characters: readonly string[]; caretAt: number } {
  const start = Math.max(0, Math.min(caretAt - 40, characters.length - MAX_SHOWN_CHARACTERS))
  const end = start + MAX_SHOWN_CHARACTERS
  const left = start === 0 ? [] : ['…']
  const right = end >= characters.length ? [] : ['…']
  return {
    characters: [...left, ...characters.slice(start, end), ...right],
    caretAt: caretAt - start + left.length,
  }
}

/** Escapes control characters. A tab becomes two spaces, so that carets line up. */
function clean(text: string): string {
  return visibleText(text.replaceAll('\t', '  '))
}

/**
 * Masks user name and password of an address (redis://:secret@host) with one star per character, so that the columns do
 * not move.
 */
function maskUserInfo(text: string): string {
  return text.replace(/(?<=\/\/)[^\s/@]+(?=@)/g, (secret) => '*'.repeat(secret.length))
}

/** Returns the number of terminal columns. A wide character takes two columns. */
function displayWidth(text: string): number {
  let width = 0
  for (const character of text)
    width +=
      /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(
        character,
      )
        ? 2
        : /\p{Mn}/u.test(character)
          ? 0
          : 1
  return width
}

function painter(style: Parameters<typeof styleText>[0], colour: boolean): (text: string) => string {
  return colour ? (text) => styleText(style, text, { validateStream: false }) : (text) => text
}
