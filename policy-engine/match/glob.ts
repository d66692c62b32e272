/**
 * Prepares a glob: `*` stands for any run of characters, none included, everything else for itself. There is no escape.
 * Cost of a match: each piece between two `*` is looked for once, from left to right.
 */
export function compileGlob(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    if (text.length < first.length + last.length) return false
    if (!text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let at = first.length
    for (const piece of rest) {
      const found = text.indexOf(piece, at)
      if (found === -1 || found + piece.length > end) return false
      at = found + piece.length
    }
    return at <= end
  }
}
