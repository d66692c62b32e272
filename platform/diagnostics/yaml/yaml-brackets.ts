import { problem, type SyntaxProblem } from './yaml-problem.ts'

const OPENS: Readonly<Record<string, string>> = { ']': '[', '}': '{' }
const CLOSES: Readonly<Record<string, string>> = { '[': ']', '{': '}' }

const DEEPEST = 100

/** Explains an unclosed bracket: its closing bracket is missing or of the wrong kind. */
export function unclosedBracket(text: string, position: number): SyntaxProblem {
  let depth = 0
  for (let index = position - 1; index >= 0; index--) {
    const character = text.charAt(index)
    if (character in OPENS) depth += 1
    if (!(character in CLOSES)) continue
    if (depth > 0) {
      depth -= 1
      continue
    }
    return problem('014', `this ${character} is never closed`, `add ${CLOSES[character]}`, index)
  }
  return problem('014', 'a bracket is never closed', undefined, position)
}

export function closesNothing(text: string, position: number): SyntaxProblem {
  const character = text.charAt(position)
  return problem(
    '014',
    `this ${character} has no matching opening bracket`,
    'remove it, or quote the value',
    position,
    1,
    ' ',
  )
}

/** @returns true when no open bracket matches the closing bracket at `position`: `{ methods: [GET]] }`. */
export function closesNoOther(text: string, position: number): boolean {
  const wanted = OPENS[text.charAt(position)]
  if (wanted === undefined) return false
  let depth = 0
  for (let index = position - 1; index >= 0; index--) {
    const character = text.charAt(index)
    if (character in OPENS) depth += 1
    else if (character in CLOSES && depth > 0) depth -= 1
    else if (character === wanted) return false
  }
  return true
}

/** Reports excessive nesting at the first excess bracket. The parser's own error position depends on its stack. */
export function tooDeep(text: string, position: number): SyntaxProblem {
  const message = 'lists and maps are nested too deeply here'
  const hint = `at most ${DEEPEST} levels are allowed`
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index)
    if (character in CLOSES) depth += 1
    else if (character in OPENS) depth -= 1
    if (depth > DEEPEST) return problem('018', message, hint, index)
  }
  return problem('018', message, hint, position)
}

export function missingComma(position: number): SyntaxProblem {
  return problem('010', 'a comma is missing before this', 'write ", " between two entries', position)
}
