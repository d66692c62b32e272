const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

/**
 * Returns whether a client prefers HTML to another representation: it names `text/html`, and does not prefer the other
 * media type. With equal weights, the first name wins. A client without `text/html`, such as a program, gets the other
 * representation. RFC 9110 section 12.5.1.
 */
export function prefersHtml(
  accept: string | undefined,
  other: 'application/json' | 'text/markdown',
): boolean {
  if (accept === undefined) return false
  let best: { readonly type: string; readonly weight: number } | undefined
  for (const member of accept.split(',')) {
    const [type = '', ...parameters] = member.split(';').map((part) => part.trim().toLowerCase())
    if (type !== 'text/html' && type !== other) continue
    const weight = Number(
      parameters.map((one) => WEIGHT.exec(one)?.[1]).find((one) => one !== undefined) ?? 1,
    )
    if (weight > (best?.weight ?? 0)) best = { type, weight }
  }
  return best?.type === 'text/html'
}
