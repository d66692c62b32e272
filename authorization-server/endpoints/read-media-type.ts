/**
 * Reads a `Content-Type` value strictly: `type/subtype` with an optional charset.
 * Source: RFC 9110 section 8.3.1.
 * @returns lower-case type and charset, or undefined when the value is absent or not well-formed.
 */
export function readMediaType(
  value: string | undefined,
): { readonly type: string; readonly charset: string | undefined } | undefined {
  const match = /^([a-z0-9.+-]+\/[a-z0-9.+-]+)(?: *; *charset=("?)([a-z0-9._-]+)\2)? *;?$/i.exec(value ?? '')
  const type = match?.[1]
  return type === undefined ? undefined : { type: type.toLowerCase(), charset: match?.[3]?.toLowerCase() }
}
