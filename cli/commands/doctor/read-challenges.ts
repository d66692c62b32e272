/** One challenge of a `WWW-Authenticate` header. */
export type ReadChallenge = {
  /** Lower case. */
  readonly scheme: string
  readonly parameters: ReadonlyMap<string, string>
}

const PART = /\s*(?:,\s*)*([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/gy

/**
 * Parses challenges as a client must: several in one header, quoted and plain values. A word without a value begins a
 * challenge. RFC 9110 section 11.6.1.
 * @returns undefined when the header cannot be parsed.
 */
export function readChallenges(header: string): readonly ReadChallenge[] | undefined {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  let read = 0
  for (const match of header.matchAll(PART)) {
    const [whole, name = '', quoted, plain] = match
    read += whole.length
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain
    if (value === undefined) challenges.push({ scheme: name.toLowerCase(), parameters: new Map() })
    else {
      const parameters = challenges.at(-1)?.parameters
      if (parameters === undefined || parameters.has(name.toLowerCase())) return undefined
      parameters.set(name.toLowerCase(), value)
    }
  }
  return read === header.trimEnd().length && challenges.length > 0 ? challenges : undefined
}
