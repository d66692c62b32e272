import type { Operand, RequestValue } from './condition.ts'

/** Why a text is no operand, and what to write. */
export type OperandProblem = { readonly problem: string; readonly hint: string }

const TEMPLATE = /^\{(path|header|query)\.([^{}]+)\}$/
const NAMES = {
  path: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
  header: /^[A-Za-z0-9-]{1,64}$/,
  query: /^[\x21-\x7e]{1,64}$/,
} as const
const HINT = 'write {path.name}, {header.name} or {query.name} and nothing around it'

/** Reads what a condition compares a claim with: a value of the request in braces, or the value itself. */
export function readOperand(written: string | number | boolean): Operand | OperandProblem {
  if (typeof written !== 'string') return written
  const [, from, name] = TEMPLATE.exec(written) ?? []
  if (from === undefined || name === undefined)
    return /^\{.*\}$|\{(?:path|header|query)\b/s.test(written)
      ? { problem: `${JSON.stringify(written)} is not a value of the request`, hint: HINT }
      : written
  const source = from as RequestValue['from']
  if (!NAMES[source].test(name))
    return { problem: `${JSON.stringify(name)} names no ${WHAT[source]}`, hint: HINT }
  return { from: source, name: source === 'header' ? name.toLowerCase() : name }
}

const WHAT = { path: 'parameter of a path', header: 'header', query: 'parameter of a query' } as const
