import { foldHeaderName } from './fold-header-name.ts'

/** What stands for a header that is there more than once, or could be read so: no value of it can be relied on. */
export const UNCLEAR = Symbol('unclear')

/** Tells the headers of a request by their names in small letters. */
export type HeaderSource = {
  /** @returns undefined when the header is not there. */
  header(name: string): string | undefined | typeof UNCLEAR
}

/**
 * Finds a header among those that go on to an upstream. Servers that fold names (CGI, WSGI) read `school_id` as `School-Id`:
 * another spelling of the name is another value of it there, so it makes the header unclear.
 * @param headers name, value, name, value.
 * @param name in small letters, made of letters, digits and `-`.
 */
export function findHeader(headers: readonly string[], name: string): string | undefined | typeof UNCLEAR {
  let value: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const written = headers[i] as string
    if (written.length !== name.length) continue
    const lower = written.toLowerCase()
    if (lower !== name && foldHeaderName(lower) !== name) continue
    if (lower !== name || value !== undefined) return UNCLEAR
    value = headers[i + 1] as string
  }
  return value
}
