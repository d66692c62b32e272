import type { AlertRule, RecordingRule, Rule } from '../fixtures/alert-rules.ts'

/** An alert that has a change, or that uses a recording rule with a change. */
export type AlertMutant = {
  /** The rule and its change, for messages. */
  readonly change: string
  /** Name of the alert. The names of mutants are different, so that one file can contain all mutants. */
  readonly name: string
  /** The changed recording rule, and the alert. */
  readonly rules: readonly Rule[]
}

/** Replaces a part of an expression. `end` is exclusive. */
type Edit = { readonly start: number; readonly end: number; readonly text: string }
type Token = { readonly text: string; readonly start: number; readonly end: number }

const TOKEN = /"[^"]*"|\[\w+\]|[=!]~|[=!<>]=|[<>=(){},+*/-]|\d+(?:\.\d+)?|[A-Za-z_][\w:]*/g
const SET_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'unless'])
const NEGATED: Readonly<Record<string, string>> = { '=': '!=', '!=': '=', '=~': '!~', '!~': '=~' }
/** Without equivalents: a comparison with `==` is a comparison with the least or the largest value of a gauge. */
const OTHER_COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  '>': ['>=', '<', '=='],
  '<': ['<=', '>', '=='],
  '==': ['!=', '>', '<'],
}
const OTHER_AGGREGATION: Readonly<Record<string, string>> = { min: 'max', max: 'min' }
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/**
 * Creates the mutants of an alert and of its recording rules. A mutant has one of these changes:
 * - It doubles or halves a number or a range. It doubles or removes `for`.
 * - It removes or negates a matcher of a selector, or removes an alternative of a regular expression.
 * - It removes a label of `by` or `on`, or exchanges `min` and `max`.
 * - It removes an operand of `and`, `or` or `unless`.
 * - It replaces a comparison.
 */
export function makeAlertMutants(
  alert: AlertRule,
  records: readonly RecordingRule[],
): readonly AlertMutant[] {
  const own = mutate(alert).map(({ rule, change }) => ({ change, rule, record: [] as readonly Rule[] }))
  const ofRecords = records.flatMap((record) =>
    mutate(record).map(({ rule, change }, index) => {
      const name = `${record.record}_${index}`
      const user = { ...alert, expr: alert.expr.replaceAll(record.record, name) }
      return { change, rule: user, record: [{ ...rule, record: name }] }
    }),
  )
  return [...own, ...ofRecords].map(({ change, rule, record }, index) => {
    const name = `${alert.alert}_${index}`
    return { change, name, rules: [...record, { ...rule, alert: name }] }
  })
}

function mutate<R extends Rule>(rule: R): readonly { readonly rule: R; readonly change: string }[] {
  const { expr } = rule
  const name = 'alert' in rule ? rule.alert : rule.record
  const expressions = editsOf(expr).map(({ start, end, text }) => ({
    rule: { ...rule, expr: `${expr.slice(0, start)}${text}${expr.slice(end)}` },
    change: `${name}: ${expr.slice(0, start)}[-${expr.slice(start, end)}-]{+${text}+}${expr.slice(end)}`,
  }))
  if (!('alert' in rule) || rule.for === undefined) return expressions
  const waits = ['0s', otherDurations(rule.for)[0]].map((text) => ({
    rule: { ...rule, for: text },
    change: `${name}: for: ${text}`,
  }))
  return [...expressions, ...waits]
}

function editsOf(expr: string): readonly Edit[] {
  const tokens = [...expr.matchAll(TOKEN)].map(
    ({ 0: text, index: start }): Token => ({ text, start, end: start + text.length }),
  )
  const openers: string[] = []
  return tokens.flatMap((token, at): readonly Edit[] => {
    const { text, start, end } = token
    if (text === '(' || text === '{') {
      const isList = /^(?:by|on)$/.test(tokens[at - 1]?.text ?? '')
      openers.push(isList ? 'labels' : text)
    }
    if (text === ')' || text === '}') openers.pop()
    const place = openers.at(-1)
    const isName = /^[A-Za-z_]/.test(text)
    if (place === 'labels') return isName ? [removeItem(tokens, at, at)] : []
    if (place === '{') return isName ? matcherEdits(tokens, at) : []
    if (/^\d/.test(text)) return otherNumbers(text).map((other) => ({ start, end, text: other }))
    if (text.startsWith('['))
      return otherDurations(text.slice(1, -1)).map((other) => ({ start, end, text: `[${other}]` }))
    if (SET_OPERATORS.has(text)) return operandEdits(tokens, at)
    const comparisons = OTHER_COMPARISONS[text]
    if (comparisons !== undefined) return comparisons.map((other) => ({ start, end, text: other }))
    const aggregation = OTHER_AGGREGATION[text]
    return aggregation === undefined ? [] : [{ start, end, text: aggregation }]
  })
}

/** Returns the double and the half. Zero gets one number on each side. */
function otherNumbers(text: string): readonly string[] {
  const value = Number(text)
  return value === 0 ? ['2', '-1'] : [`${value * 2}`, `${value / 2}`]
}

function otherDurations(text: string): readonly [twice: string, half: string] {
  const seconds = Number.parseInt(text, 10) * (SECONDS[text.slice(-1)] ?? Number.NaN)
  return [`${seconds * 2}s`, `${seconds / 2}s`]
}

/** The matcher begins at `at`: a label, an operator and a string. */
function matcherEdits(tokens: readonly Token[], at: number): readonly Edit[] {
  const [operator, value] = [tokens[at + 1], tokens[at + 2]]
  if (operator === undefined || value === undefined) return []
  const alternatives = operator.text.endsWith('~') ? value.text.slice(1, -1).split('|') : []
  return [
    removeItem(tokens, at, at + 2),
    { ...operator, text: NEGATED[operator.text] ?? '' },
    ...(alternatives.length < 2 ? [] : alternatives).map((_, index) => ({
      ...value,
      text: `"${alternatives.toSpliced(index, 1).join('|')}"`,
    })),
  ]
}

/** Removes the tokens from `first` to `last` from a list, and one comma. */
function removeItem(tokens: readonly Token[], first: number, last: number): Edit {
  const [start, end] = [tokens[first]?.start ?? 0, tokens[last]?.end ?? 0]
  if (tokens[last + 1]?.text === ',') return { start, end: tokens[last + 1]?.end ?? end, text: '' }
  if (tokens[first - 1]?.text === ',') return { start: tokens[first - 1]?.start ?? start, end, text: '' }
  return { start, end, text: '' }
}

/** Removes the right operand. Of `or`, removes also the left operand. */
function operandEdits(tokens: readonly Token[], at: number): readonly Edit[] {
  const { text = '', start = 0, end = 0 } = tokens[at] ?? {}
  const endsOperand = (other: string): boolean =>
    other === 'or' || (text !== 'or' && SET_OPERATORS.has(other))
  const after = findOperandEnd(tokens.slice(at + 1), { open: '({', close: ')}', endsOperand })
  const right = { start, end: tokens[at + after]?.end ?? end, text: '' }
  if (text !== 'or') return [right]
  const before = findOperandEnd(tokens.slice(0, at).toReversed(), { open: ')}', close: '({', endsOperand })
  return [right, { start: tokens[at - before]?.start ?? start, end, text: '' }]
}

/** Returns the number of tokens of the operand. */
function findOperandEnd(
  tokens: readonly Token[],
  { open, close, endsOperand }: { open: string; close: string; endsOperand: (text: string) => boolean },
): number {
  let depth = 0
  for (const [index, { text }] of tokens.entries()) {
    if (depth === 0 && (close.includes(text) || endsOperand(text))) return index
    if (open.includes(text)) depth += 1
    if (close.includes(text)) depth -= 1
  }
  return tokens.length
}
