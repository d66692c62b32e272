/** The fields of a form, each once. */
export type Form = ReadonlyMap<string, string>

/** A consent form has a field for each requested scope. */
const MAX_FIELDS = 300

/**
 * Reads a form body strictly: every field once, every escape whole, UTF-8 only, no NUL.
 * Source: URL Standard, application/x-www-form-urlencoded.
 * @returns undefined when the body is anything else: nothing is guessed.
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
    return undefined // a broken escape, or bytes that are not UTF-8
  }
}
