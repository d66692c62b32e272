/** The fields of a form. Each field occurs once. */
export type Form = ReadonlyMap<string, string>

/** Maximum number of fields in a form. A consent form has one field for each requested scope. */
const MAX_FIELDS = 300

/**
 * Reads a form body strictly: no repeated fields, complete escapes, UTF-8 only, no NUL.
 * Source: URL Standard, application/x-www-form-urlencoded.
 * @returns undefined when the body violates a rule.
 */
export function readForm(body: string): Form | undefined {
  const form = new Map<string, string>()
  if (body === '') return form
  const pairs = body.split('&')
  if (pairs.length > MAX_FIELDS) return undefined
  for (const pair of pairs) {
    const [name, value] = pair.split('=').map(decode)
    if (name === undefined || value === undefined || pair.split('=').length !== 2) return undefined
    if (name === '' || form.has(name)) return undefined
    form.set(name, value)
  }
  return form
}

function decode(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part.replaceAll('+', ' '))
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined // an invalid escape, or bytes that are not UTF-8
  }
}
