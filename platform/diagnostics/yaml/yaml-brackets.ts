import { problem, type SyntaxProblem } from './yaml-problem.ts'

const OPENS: Readonly<Record<string, string>> = { ']': '[', '}': '{' }
const CLOSES: Readonly<Record<string, string>> = { '[': ']', '{': '}' }

const DEEPEST = 100

/** The parser missed the end of a bracket: it is missing, or another kind of bracket stands where it should. */
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

/** A closing bracket without its other half. */
export function closesNothing(text: string, position: number): SyntaxProblem {
  const character = text.charAt(position)
  return problem('014', `this ${character} closes nothing`, 'remove it, or quote the value', position, 1, ' ')
}

/** @returns whether nothing open is of the kind that the bracket at `position` closes: `{ methods: [GET]] }`. */
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

/** Where the parser gave up depends on its stack; the first bracket that is one too many does not. */
export function tooDeep(text: string, position: number): SyntaxProblem {
  const message = 'lists and maps are nested too deeply here'
  const hint = `more than ${DEEPEST} within each other are a slip`
  let depth = 0
  for (let index = 0; index < text.length; index++) {
    const character = text.charAt(index)
    if (character in CLOSES) depth += 1
    else if (character in OPENS) depth -= 1
    if (depth > DEEPEST) return problem('018', message, hint, index)
  }
  return problem('018', message, hint, position)
}

/** Two entries of a list or map in brackets stand side by side. */
export function missingComma(position: number): SyntaxProblem {
  return problem('010', 'a comma is missing before this', 'write ", " between two entries', position)
}
