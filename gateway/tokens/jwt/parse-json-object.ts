/** Deeper than any claim of a real token; a parser further on must not be brought to its knees. */
const MAX_DEPTH = 16

/**
 * Parses a JSON object so that it can be read in one way only: a member that occurs twice, `__proto__` at any depth, or
 * more than 16 levels make it none.
 * Source: RFC 8725 section 2.4 and 3.10; RFC 8259 section 4 leaves open what a repeated member means.
 * Cost: linear in the text.
 * @returns its members, or undefined.
 */
export function parseJsonObject(text: string): ReadonlyMap<string, unknown> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return isUnambiguous(text) ? new Map(Object.entries(value)) : undefined
}

/** Walks over text that is known to be JSON, with the names of every object that is open. */
function isUnambiguous(json: string): boolean {
  const open: (Set<string> | undefined)[] = [] // undefined: an array
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at]
    if (sign === '{') open.push(new Set())
    else if (sign === '[') open.push(undefined)
    else if (sign === '}' || sign === ']') open.pop()
    else if (sign === '"') {
      const end = endOfString(json, at)
      const names = open.at(-1)
      if (names !== undefined && isName(json, end)) {
        const name = String(JSON.parse(json.slice(at, end)))
        if (name === '__proto__' || names.has(name)) return false
        names.add(name)
      }
      at = end - 1
    }
    if (open.length > MAX_DEPTH) return false
  }
  return true
}

/** The place behind the closing quote. */
function endOfString(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** In an object, a string with a colon behind it is a name. */
function isName(json: string, end: number): boolean {
  let at = end
  while (json[at] === ' ' || json[at] === '\t' || json[at] === '\n' || json[at] === '\r') at += 1
  return json[at] === ':'
}
