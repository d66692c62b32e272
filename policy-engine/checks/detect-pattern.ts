/** What a text seems to be that is taken as it stands. */
export type DetectedPattern = 'template' | 'regular expression' | 'wildcard'

/** `${x}`, `{{x}}`, `{x}`, and a whole text like `$http_x_school`. */
const TEMPLATE = /\$\{|\{\{|\{[A-Za-z_][\w.-]*\}|^\$[A-Za-z_][\w.]*$/
/** `/x/`, `^x`, `[a-z]`, `(a|b)`, `.+`, `\d+`, `\.`, and `.*` at the beginning. */
const EXPRESSION = /^\/[^/]+\/$|^\^.|\[\^?\w-\w|\([^()|]*\|[^()]*\)|\.\+|\\[dDwWsS][+*{]|\\\.|^\.\*/
const DELIMITED = /^\/(.+)\/[gimsuy]{0,6}$/
const SIGNS = /[\\^|()[\]+*?]/
/** What is longer is told of already. */
const MAX_LENGTH = 1024

/**
 * Finds what people write for a text that is still to be filled in, or that stands for many. Pure; linear time. Backslashes and
 * slashes alone are no sign: accounts are called `CORP\dana`, and groups `/staff/editors`.
 * @returns undefined for a plain text.
 */
export function detectPattern(text: string): DetectedPattern | undefined {
  if (text.length > MAX_LENGTH) return undefined
  if (TEMPLATE.test(text)) return 'template'
  const [, between = ''] = DELIMITED.exec(text) ?? []
  const isExpression =
    EXPRESSION.test(text) || SIGNS.test(between) || (text.endsWith('$') && SIGNS.test(text))
  if (isExpression) return 'regular expression'
  return text.includes('*') ? 'wildcard' : undefined
}
