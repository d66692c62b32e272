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

/** Explains a value in typographic quotes, which YAML takes for part of the value; undefined for any other value. */
export function typographicQuotes(
  value: string,
): { readonly message: string; readonly hint: string } | undefined {
  const [, mark, inner = ''] = /^([“”„‟‘’‚«»])(.*?)[“”„‟‘’‚«»]?$/su.exec(value) ?? []
  return mark === undefined
    ? undefined
    : { message: `${mark} is no quotation mark to YAML`, hint: `write ${inQuotes(inner)}` }
}

/** The rest of a line, after a character that says how a text of several lines goes on. */
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

/** A quote without its end, or whose end stands in a later line. */
export function unclosedQuote(text: string, position: number, mark: '"' | "'"): SyntaxProblem {
  const start = Math.max(0, text.lastIndexOf(mark, position - 1))
  return problem('014', `this ${mark} is never closed`, `add ${mark} at the end of the value`, start)
}

/** A key in quotes has to end in its own line; this one took lines below it in. */
export function lateQuote(text: string, position: number): SyntaxProblem {
  const line = lineAt(text, position)
  const mark = text.charAt(position)
  const length = line.end - position
  // The closing quote stays what it is: a text that begins where it stood would take in more.
  const hint = `close it where the text ends, or remove it`
  return problem('014', `this ${mark} is not closed in its line`, hint, position, 1, 'x'.repeat(length))
}

function inQuotes(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** Cuts closing brackets off that belong to the surroundings: `/a/{id}}` ends before its last brace. */
function withoutOuterBrackets(value: string): string {
  let depth = 0
  for (let index = 0; index < value.length; index++) {
    if ('{['.includes(value.charAt(index))) depth += 1
    if ('}]'.includes(value.charAt(index))) depth -= 1
    if (depth < 0) return value.slice(0, index)
  }
  return value
}
