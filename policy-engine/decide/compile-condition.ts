import type { Condition, Literal, Operand } from '../load/policy-route.ts'
import { type RequestValues, readRequestValue } from '../match/request-values.ts'
import type { ClaimValue, NamedClaims } from './named-claims.ts'

export type CompiledCondition = {
  readonly condition: Condition
  /** Text of the condition, e.g. `school_id equals {header.x-school-id}`. */
  readonly text: string
  /** Returns the operands for a request. undefined: the request value is missing or ambiguous. */
  readonly operands: (request: RequestValues) => readonly (Literal | undefined)[]
  /**
   * Returns whether the condition holds. A missing claim satisfies only `exists: false`. A missing or ambiguous request
   * value equals no claim.
   */
  readonly holds: (claims: NamedClaims, request: RequestValues) => boolean
}

const NO_OPERANDS = () => []

/** Compiles a condition. Pure. Comparisons do not convert types: `1` is not `"1"`. */
export function compileCondition(condition: Condition): CompiledCondition {
  const { claim, test } = condition
  const text = describeCondition(condition)
  if ('exists' in test) {
    const holds = (claims: NamedClaims) =>
      claims.has(claim) && (claims.get(claim) !== undefined) === test.exists
    return Object.freeze({ condition, text, operands: NO_OPERANDS, holds })
  }
  if ('matches' in test) {
    const matches = compileGlob(test.matches)
    const holds = (claims: NamedClaims) =>
      hasMember(claims.get(claim), (member) => typeof member === 'string' && matches(member))
    return Object.freeze({ condition, text, operands: NO_OPERANDS, holds })
  }
  const wanted = 'equals' in test ? [test.equals] : test.in
  return Object.freeze({
    condition,
    text,
    operands: (request: RequestValues) => wanted.map((operand) => resolve(operand, request)),
    holds(claims: NamedClaims, request: RequestValues) {
      const claimed = claims.get(claim)
      if (claimed === undefined) return false
      return wanted.some((operand) => {
        const value = resolve(operand, request)
        return value !== undefined && hasMember(claimed, (member) => member === value)
      })
    },
  })
}

export function describeCondition({ claim, test }: Condition): string {
  if ('exists' in test) return `${claim} ${test.exists ? 'exists' : 'does not exist'}`
  if ('matches' in test) return `${claim} matches ${test.matches}`
  if ('equals' in test) return `${claim} equals ${describeOperand(test.equals)}`
  return `${claim} is one of ${test.in.map(describeOperand).join(', ')}`
}

/** Formats an operand of a condition, e.g. `{header.x-school-id}` or `"gold"`. */
export function describeOperand(operand: Operand): string {
  return typeof operand === 'object' ? `{${operand.from}.${operand.name}}` : JSON.stringify(operand)
}

function resolve(operand: Operand, request: RequestValues): Literal | undefined {
  return typeof operand === 'object' ? readRequestValue(operand, request) : operand
}

/** Returns whether a claim passes a test. A list passes if one of its members passes. */
function hasMember(claimed: ClaimValue | undefined, test: (member: Literal) => boolean): boolean {
  if (claimed === undefined) return false
  return typeof claimed === 'object' ? claimed.some(test) : test(claimed)
}

/**
 * Compiles a glob. `*` matches any number of characters, including zero. All other characters match literally.
 * Globs do not have an escape character.
 * Cost of a match: one search for each piece between two `*`, from left to right.
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
