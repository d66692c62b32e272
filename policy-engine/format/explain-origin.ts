/** Explains why a text is not an origin, with a hint for its correction. Source: HTML, serialization of an origin. */
export function explainOrigin(value: string): { readonly message: string; readonly hint?: string } {
  if (value === 'null')
    return {
      message: '"null" is the origin of sandboxed pages and local files, so any page can have it',
      hint: 'name the origin of a page',
    }
  if (value.includes('*'))
    return {
      message: `${JSON.stringify(value)} is not an origin: origins have no wildcards`,
      hint: 'name each origin, or write "*" alone for all origins',
    }
  const url = URL.parse(value.includes('://') ? value : `https://${value}`)
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  const hint = isWeb && url.origin !== value ? { hint: `write ${url.origin}` } : {}
  const text = JSON.stringify(value)
  if (url === null || !isWeb) return { message: `${text} is not an origin, such as https://app.example.com` }
  if (!value.includes('://')) return { message: `${text} is not an origin: it has no scheme`, ...hint }
  if (/^[^:]+:\/\/[^/?#]*[/?#]/.test(value))
    return { message: `${text} is not an origin: an origin ends after the host and the port`, ...hint }
  return { message: `${text} is not an origin as browsers send it`, ...hint }
}
