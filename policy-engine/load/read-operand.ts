import type { Operand, RequestValue } from './policy-route.ts'

export type OperandProblem = { readonly problem: string; readonly hint: string }

const TEMPLATE = /^\{(path|header|query)\.([^{}]+)\}$/
const NAMES = {
  path: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
  header: /^[A-Za-z0-9-]{1,64}$/,
  query: /^[\x21-\x7e]{1,64}$/,
} as const
const HINT = 'write {path.name}, {header.name} or {query.name} without other text'

/** Parses an operand of a condition: a reference to a request value in braces, or a literal. */
export function readOperand(written: string | number | boolean): Operand | OperandProblem {
  if (typeof written !== 'string') return written
  const [, from, name] = TEMPLATE.exec(written) ?? []
  if (from === undefined || name === undefined)
    return /^\{.*\}$|\{(?:path|header|query)\b/s.test(written)
      ? { problem: `${JSON.stringify(written)} is not a request value`, hint: HINT }
      : written
  const source = from as RequestValue['from']
  if (!NAMES[source].test(name))
    return { problem: `${JSON.stringify(name)} is not a valid name of a ${WHAT[source]}`, hint: HINT }
  return { from: source, name: source === 'header' ? name.toLowerCase() : name }
}

const WHAT = { path: 'parameter of a path', header: 'header', query: 'parameter of a query' } as const
