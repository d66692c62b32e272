import type { IncomingMessage } from 'node:http'

/**
 * Returns request headers in each form of `IncomingMessage`. Joins the values of a repeated header with commas.
 * @param rawHeaders name, value, name, value.
 */
export function toHeaderForms(
  rawHeaders: string[],
): Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'headersDistinct'> {
  const distinct = new Map<string, string[]>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase()
    const value = String(rawHeaders[at + 1])
    const values = distinct.get(name)
    if (values === undefined) distinct.set(name, [value])
    else values.push(value)
  }
  return {
    rawHeaders,
    headers: Object.fromEntries([...distinct].map(([name, values]) => [name, values.join(', ')])),
    headersDistinct: Object.fromEntries(distinct),
  }
}
