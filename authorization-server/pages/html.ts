/** Markup that is safe to send. Only {@link html} creates it, and it escapes text. */
export class Html {
  readonly #markup: string

  constructor(markup: string, key: typeof MADE_HERE) {
    if (key !== MADE_HERE) throw new TypeError('create markup only with html``')
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

const MADE_HERE = Symbol()

/** A value in a template: text (escaped), markup, a list of both, or nothing. */
export type HtmlPart = Html | string | number | undefined | false | readonly HtmlPart[]

/**
 * Template tag for markup. It escapes every value for element text and for quoted attributes.
 * Do not use values in unquoted attributes, scripts or styles.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  const markup = strings.map((string, i) => string + render(parts[i])).join('')
  return new Html(markup, MADE_HERE)
}

function render(part: HtmlPart): string {
  if (part === undefined || part === false) return ''
  if (part instanceof Html) return part.toString()
  if (typeof part === 'object') return part.map(render).join('')
  return String(part).replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
