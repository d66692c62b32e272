/**
 * Splits a command line into words, as a POSIX shell does: quotes, backslashes and continued lines. Expands nothing.
 * @returns the words, or an error message.
 */
export function splitWords(text: string): { readonly words: readonly string[] } | { readonly wrong: string } {
  const words: string[] = []
  let word: string | undefined
  for (const [part] of text.matchAll(PARTS)) {
    if (/^(?:\s|\\\n)/.test(part)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (part === '"' || part === "'")
      return { wrong: `A quotation mark (${part}) has no partner in the request.` }
    else word = `${word ?? ''}${unquote(part)}`
  }
  return { words: word === undefined ? words : [...words, word] }
}

const PARTS = /\s+|\\\n|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s\\'"]+|['"\\]/g

function unquote(part: string): string {
  if (part.startsWith("'")) return part.slice(1, -1)
  if (part.startsWith('"')) return part.slice(1, -1).replace(/\\(["\\$`])/g, '$1')
  return part.replace(/^\\([\s\S])/, '$1')
}
