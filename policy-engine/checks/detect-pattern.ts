export type DetectedPattern = 'template' | 'regular expression' | 'wildcard'

/** `${x}`, `{{x}}`, `{x}`, or a whole text such as `$http_x_school`. */
const TEMPLATE = /\$\{|\{\{|\{[A-Za-z_][\w.-]*\}|^\$[A-Za-z_][\w.]*$/
/** `/x/`, `^x`, `[a-z]`, `(a|b)`, `.+`, `\d+`, `\.`, or `.*` at the beginning. */
const EXPRESSION = /^\/[^/]+\/$|^\^.|\[\^?\w-\w|\([^()|]*\|[^()]*\)|\.\+|\\[dDwWsS][+*{]|\\\.|^\.\*/
const DELIMITED = /^\/(.+)\/[gimsuy]{0,6}$/
const SIGNS = /[\\^|()[\]+*?]/
/** Other checks report longer texts. Characters. */
const MAX_LENGTH = 1024

/**
 * Detects texts that look like a template, a regular expression or a wildcard. Pure. Runs in linear time.
 * Backslashes and slashes alone do not count: `CORP\dana` is an account, and `/staff/editors` is a group.
 * @returns undefined for plain text.
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
