import { visibleDirection } from '../diagnostics/visible-text.ts'

/** Markup that is safe to send. Only {@link html} creates this markup, and {@link html} escapes text. */
export class Html {
  readonly #markup: string

  constructor(markup: string, key: typeof IS_HTML) {
    if (key !== IS_HTML) throw new TypeError('create markup only with html``')
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

const IS_HTML = Symbol()

/** A value in a template: text (escaped), markup, a list of values, or nothing. */
type HtmlPart = Html | string | number | undefined | false | readonly HtmlPart[]

/**
 * Template tag for markup. The tag escapes every value for element text and for quoted attributes, and shows
 * bidirectional control characters as text. Do not use values in unquoted attributes, scripts or styles.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  const markup = strings.map((string, i) => string + render(parts[i])).join('')
  return new Html(markup, IS_HTML)
}

function render(part: HtmlPart): string {
  if (part === undefined || part === false) return ''
  if (part instanceof Html) return part.toString()
  if (typeof part === 'object') return part.map(render).join('')
  return visibleDirection(String(part)).replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const MAX_CHARACTERS = 100
// Invisible characters: control characters, format characters (bidi overrides, zero-width, tags), private-use
// characters, unpaired surrogates, and invisible fillers. `displayText()` replaces white space first.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}]|\p{Default_Ignorable_Code_Point}/gu
// Matches the combining characters of a letter after the first two. More than two combining characters can overlap
// other lines.
const STACKED_MARKS = /(\p{M}{2})\p{M}+/gu

/**
 * Makes untrusted text safe to show in one line.
 * Removes invisible characters and changes of the reading direction. Limits the text to 100 characters.
 * @returns undefined when no visible text is left.
 */
export function displayText(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const visible = text
    .slice(0, 8 * MAX_CHARACTERS)
    .replace(/\s+/g, ' ')
    .replace(INVISIBLE, '')
    .replace(STACKED_MARKS, '$1')
    .trim()
  const characters = [...visible]
  if (characters.length === 0) return undefined
  return characters.length <= MAX_CHARACTERS
    ? visible
    : `${characters.slice(0, MAX_CHARACTERS - 1).join('')}…`
}
