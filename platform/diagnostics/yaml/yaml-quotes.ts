import { lineAt, problem, type SyntaxProblem } from './yaml-problem.ts'

/** Points at the value around `position` and shows it in quotes. */
export function needsQuotes(text: string, position: number, message: string, end?: number): SyntaxProblem {
  const line = lineAt(text, position)
  const start = position - (/[^\s,[\]]*$/.exec(text.slice(line.start, position))?.[0].length ?? 0)
  const rest = text.slice(start, line.end)
  const value =
    end === undefined
      ? withoutOuterBrackets(/^[^\s,]*/.exec(rest)?.[0] ?? rest)
      : text.slice(start, end).trimEnd()
  const length = Math.max(1, value.length)
  const typographic = typographicQuotes(value)
  if (typographic !== undefined)
    return problem('019', typographic.message, typographic.hint, start, length, 'x'.repeat(length))
  return problem('019', message, `write ${inQuotes(value)}`, start, length, 'x'.repeat(length))
}

/** Explains a value in typographic quotes, which YAML reads as part of the value. Undefined for other values. */
export function typographicQuotes(
  value: string,
): { readonly message: string; readonly hint: string } | undefined {
  const [, mark, inner = ''] = /^([“”„‟‘’‚«»])(.*?)[“”„‟‘’‚«»]?$/su.exec(value) ?? []
  return mark === undefined
    ? undefined
    : { message: `${mark} is not a quotation mark in YAML`, hint: `write ${inQuotes(inner)}` }
}

/** Explains text after `|` or `>`, which start a block scalar in YAML. */
export function blockHeader(text: string, position: number): SyntaxProblem {
  const line = lineAt(text, position)
  const start = line.start + Math.max(0, text.slice(line.start, position).search(/[|>][^|>]*$/))
  const value = text.slice(start, line.end).trimEnd()
  const mark = value.charAt(0)
  return problem(
    '019',
    `a value that starts with ${mark} needs quotes`,
    `write ${inQuotes(value)}`,
    start,
    value.length,
    'x'.repeat(value.length),
  )
}

export function unclosedQuote(text: string, position: number, mark: '"' | "'"): SyntaxProblem {
  const start = Math.max(0, text.lastIndexOf(mark, position - 1))
  return problem('014', `this ${mark} is never closed`, `add ${mark} at the end of the value`, start)
}

/** Explains a quoted key that continues in the lines below. A quoted key has to end in its own line. */
export function unclosedQuotedKey(text: string, position: number): SyntaxProblem {
  const line = lineAt(text, position)
  const mark = text.charAt(position)
  const length = line.end - position
  // The repair replaces the rest of this line. The closing quote in a later line stays unchanged.
  const hint = `close it where the text ends, or remove it`
  return problem('014', `this ${mark} is not closed in its line`, hint, position, 1, 'x'.repeat(length))
}

function inQuotes(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** Removes closing brackets that belong to the surrounding text: `/a/{id}}` ends before its last brace. */
function withoutOuterBrackets(value: string): string {
  let depth = 0
  for (let index = 0; index < value.length; index++) {
    if ('{['.includes(value.charAt(index))) depth += 1
    if ('}]'.includes(value.charAt(index))) depth -= 1
    if (depth < 0) return value.slice(0, index)
  }
  return value
}
