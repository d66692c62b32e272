/**
 * Matches the start of an address with exactly two slashes after the scheme.
 * `URL` also accepts backslashes, and fewer or more slashes. In such an address, the path in the text can differ from
 * the path that `URL` reads. RFC 3986 section 3.
 */
const WITH_AUTHORITY = /^https?:\/\/[^/\\]/i
const QUERY_OR_FRAGMENT = /[?#]/

/**
 * Splits the `htu` of a DPoP proof. Ignores query and fragment. The target is the path of the text, unmodified: `URL`
 * would remove dot segments.
 * Source: RFC 9449 section 4.3, step 9.
 * @returns undefined for a text that is not an absolute HTTP address, and for an address with user information.
 */
export function readProofAddress(
  htu: string,
): { readonly origin: string; readonly target: string } | undefined {
  if (!WITH_AUTHORITY.test(htu) || !URL.canParse(htu)) return undefined
  const { origin, username, password } = new URL(htu)
  if (username !== '' || password !== '') return undefined
  const behind = htu.slice(htu.indexOf('//') + 2)
  const pathAt = behind.indexOf('/')
  const end = behind.search(QUERY_OR_FRAGMENT)
  const whole = end === -1 ? behind : behind.slice(0, end)
  return { origin, target: pathAt === -1 || pathAt >= whole.length ? '/' : whole.slice(pathAt) }
}
