import { indentOf, type Line, lineAfter, problem, type SyntaxProblem, wordsOf } from './yaml-problem.ts'

/**
 * Finds `name:courses`, `-name: x` and `match:{ … }` in a line with a syntax error. YAML reads them as plain text, but
 * the author meant a key or a list item.
 */
export function missingSpace(text: string, line: Line): SyntaxProblem | undefined {
  const dash = /^(\s*)-(?=[A-Za-z_])/.exec(line.text)
  if (dash !== null) {
    const start = line.start + dash[0].length - 1
    return problem('013', 'a list item needs a space after its dash', 'write "- "', start, 1, '- ')
  }
  const colon = /^(\s*(?:- +)?[A-Za-z_][\w-]*):(?=[^\s:])(?!\/\/)/.exec(line.text)
  if (colon !== null && (!/^\s*-/.test(line.text) || hasKeysBelow(text, line))) {
    const start = line.start + colon[0].length - 1
    const instead = `: ${'x'.repeat(Math.max(0, line.end - start - 2))}`
    return problem('013', 'a key needs a space after its colon', 'write ": "', start, 1, instead)
  }
  return undefined
}

/** Distinguishes the start of a map, `- name:x` with more keys below, from the plain text `- courses:read`. */
function hasKeysBelow(text: string, line: Line): boolean {
  const next = lineAfter(text, line)
  return next !== undefined && indentOf(next) > indentOf(line)
}

/** Explains a key without a colon. The lines below show whether the key has a nested value. */
export function missingColon(text: string, line: Line): SyntaxProblem {
  const { start, length } = wordsOf(line)
  const words = line.text.trim()
  const dash = /^- +/.exec(words)?.[0].length ?? 0
  const next = lineAfter(text, line)
  const isDeeper = next !== undefined && indentOf(next) > indentOf(line) + dash
  const hint = describeColon(words.slice(dash))
  const room = length - dash
  return problem(
    '013',
    'a key needs a colon and a space after it',
    hint,
    start + dash,
    room,
    isDeeper || room < 4 ? `${'k'.repeat(room - 1)}:` : `k: ${'x'.repeat(room - 3)}`,
  )
}

/** Covers three forms of the same mistake: `owner=me`, `owner：me` and `owner me`. */
function describeColon(words: string): string | undefined {
  const found = /^([A-Za-z_][\w-]*)(?:\s*[=：]\s*|\s+|$)(\S.*)?$/u.exec(words)
  if (found === null) return undefined
  const [, key, value] = found
  return value === undefined ? `write "${key}: " and a value` : `write "${key}: ${value}"`
}
