/** Members of a document that somebody else wrote: of the right type, or not there. */
export function textMember(document: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** A list of strings; anything else is an empty one. */
export function textsMember(document: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = Object.hasOwn(document, name) ? document[name] : undefined
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
