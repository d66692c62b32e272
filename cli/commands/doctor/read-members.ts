/** Returns a member of an untrusted document if it is a string, else undefined. */
export function textMember(document: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Returns the strings of a list member. Any other value gives an empty list. */
export function textsMember(document: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
