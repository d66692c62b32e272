/**
 * Maximum nesting depth. The claims of real tokens have fewer levels. The limit protects recursive code that reads the
 * result.
 */
const MAX_DEPTH = 16

/**
 * Parses a JSON object that every parser reads in the same way. Rejects a repeated member, `__proto__` at any depth,
 * and more than 16 levels.
 * Source: RFC 8725 sections 2.4 and 3.10. RFC 8259 section 4 does not define the meaning of a repeated member.
 * Cost: linear in the text.
 * @returns the members, or undefined.
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

/**
 * Returns whether all parsers read a valid JSON text in the same way. The array `open` holds the member names of each
 * object that is not closed yet.
 */
function isUnambiguous(json: string): boolean {
  const open: (Set<string> | undefined)[] = [] // undefined: an open array
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

function endOfString(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at + 1
}

/** Returns whether the string is the name of a member. In an object, a colon follows the name of a member. */
function isName(json: string, end: number): boolean {
  let at = end
  while (json[at] === ' ' || json[at] === '\t' || json[at] === '\n' || json[at] === '\r') at += 1
  return json[at] === ':'
}
