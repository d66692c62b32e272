import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

export type Mutant = {
  readonly file: string
  /** Line numbers start with 1. */
  readonly line: number
  readonly before: string
  /** The changed line. Undefined if the mutant does not contain the line. */
  readonly after: string | undefined
  readonly text: string
  /**
   * The first error message in this line or in the next eleven lines. `fail` or the list of removed values contains the
   * message. Undefined if these lines contain no message.
   */
  readonly message: string | undefined
}

const VALUE = /(?:\$\w*)?(?:\.root)?\.Values((?:\.\w+)+)/g
/** A YAML field with a literal scalar. */
const LITERAL_FIELD = /^(\s*(?:- )?[\w./-]+: )[^\s{[|>&*][^{}]*$/
const CONTROL = /^\s*\{\{-? *(if|else if|with|range|else|end|define)\b/
/** An assignment. Its action can end in a later line. */
const ASSIGNMENT = /(\{\{-? *\$\w+ :?= ).+?(?= *-?\}\}|$)/g
/** The first or the last function of an expression whose result is a map or a list. */
const MAP_EXPRESSION = /^(?:dict|merge|mergeOverwrite|omit|pick) \S|fromJson$/
const LIST_EXPRESSION = /^(?:append|compact|concat|list|prepend|uniq) \S|from(?:Json|Yaml)Array$/
/** A line that assigns a new variable. Without this line, the template does not compile. */
const NEW_VARIABLE = /:=/

/**
 * Creates the mutants of all templates. A mutant has one of these changes:
 * - It removes a line, for example a literal line or `else`.
 * - It replaces a value, the value of a literal field, or an assigned expression. The replacement has the same type,
 *   because a template with a value of another type often does not render.
 * - It makes a condition constant.
 * - It empties a loop or a named template.
 */
export function makeTemplateMutants(chart: string): readonly Mutant[] {
  const values: unknown = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))
  return readTemplates(chart).flatMap(({ file, template }) => mutate(file, template, values))
}

/** Returns one line for each template line that no mutant changes. Comments, blank lines and `end` need no mutant. */
export function findLinesWithoutMutant(chart: string, mutants: readonly Mutant[]): readonly string[] {
  const changed = new Set(mutants.map(({ file, line }) => `${file}:${line}`))
  return readTemplates(chart).flatMap(({ file, template }) => {
    const comments = new Set(commentLines(template))
    return template.split('\n').flatMap((text, index) => {
      const place = `${file}:${index + 1}`
      const needsNone = comments.has(index + 1) || /^\s*(#.*|\{\{-? *end *-?\}\})?$/.test(text)
      return needsNone || changed.has(place) ? [] : [`helm/templates/${place}: ${text.trim()}`]
    })
  })
}

/** The error message of a template that {@link failAtLine} returns. */
export const PROBE = 'the values render the line of the mutant'

/** Returns the template with an error at the line of the mutant. A rendering that fails with PROBE renders the line. */
export function failAtLine(chart: string, { file, line }: Mutant): string {
  const lines = readFileSync(join(chart, 'templates', file), 'utf8').split('\n')
  const isInAction = (index: number) => {
    const before = lines.slice(0, index).join('\n')
    return before.lastIndexOf('{{') > before.lastIndexOf('}}')
  }
  let index = line - 1
  while (isInAction(index)) index -= 1
  const fail = `{{ fail "${PROBE}" }}`
  const text = lines[index] ?? ''
  const changed = /^\s*\{\{-? *(else|define)\b/.test(text)
    ? text.replace('}}', `}}${fail}`)
    : `${fail}${text}`
  return lines.with(index, changed).join('\n')
}

export function readTemplates(
  chart: string,
): readonly { readonly file: string; readonly template: string }[] {
  const folder = join(chart, 'templates')
  return readdirSync(folder).map((file) => ({ file, template: readFileSync(join(folder, file), 'utf8') }))
}

function mutate(file: string, template: string, values: unknown): readonly Mutant[] {
  const lines = template.split('\n')
  const comments = new Set(commentLines(template))
  return lines.flatMap((before, index) =>
    (comments.has(index + 1) ? [] : changesOf(before, values)).map((after): Mutant => {
      const changed = after === undefined ? lines.toSpliced(index, 1) : lines.with(index, after)
      const fail = lines
        .slice(index, index + 12)
        .find((line) => /\bfail\b|^ {2}"\w+" ".* was removed\./.test(line))
      const message = /"((?:[^"\\]|\\.){12,})"/.exec(fail ?? '')?.[1]
      return {
        file,
        line: index + 1,
        before: before.trim(),
        after: after?.trim(),
        text: changed.join('\n'),
        message,
      }
    }),
  )
}

/** Returns the numbers of the lines of comments that contain several lines. */
function commentLines(template: string): readonly number[] {
  return [...template.matchAll(/\{\{-? ?\/\*[\s\S]*?\*\/ ?-?\}\}/g)].flatMap(({ 0: comment, index }) => {
    const first = template.slice(0, index).split('\n').length
    return comment.split('\n').map((_, offset) => first + offset)
  })
}

function changesOf(line: string, values: unknown): readonly (string | undefined)[] {
  if (/^\s*#/.test(line)) return []
  const control = CONTROL.exec(line)?.[1]
  const changes: (string | undefined)[] = []
  if (control === 'if' || control === 'else if')
    for (const constant of ['true', 'false'])
      changes.push(line.replace(/(\{\{-? *(?:else )?if) .*? *(-?\}\})/, `$1 ${constant} $2`))
  if (control === 'with') changes.push(line.replace(/(\{\{-? *with) .*? *(-?\}\})/, '$1 "" $2'))
  if (control === 'range') changes.push(line.replace(/(\{\{-? *range (?:.*:=)?).*? *(-?\}\})/, '$1 list $2'))
  if (control === 'define')
    changes.push(
      line.replace(/\{\{-? *define "[^"]+" *-?\}\}/, (define) => `${define}{{ end }}{{ define "mutant" }}`),
    )
  const isNewVariable = NEW_VARIABLE.test(line)
  if (control === 'else' || (control === undefined && line.trim() !== '' && !isNewVariable))
    changes.push(undefined)
  if (control !== 'range' && isNewVariable)
    for (const { 0: assignment, 1: start = '', index } of line.matchAll(ASSIGNMENT)) {
      // The next lines contain the arguments of the function.
      const empty = line.endsWith(assignment) ? 'list' : emptyOf(assignment.slice(start.length))
      changes.push(`${line.slice(0, index)}${start}${empty}${line.slice(index + assignment.length)}`)
    }
  if (LITERAL_FIELD.test(line)) changes.push(line.replace(LITERAL_FIELD, '$1mutant'))
  // If a condition is only a value, the constants `true` and `false` already replace the value.
  const isPlain = /\{\{-? *(?:if|with) \S+ *-?\}\}/.test(line)
  if (control !== 'range' && !(isPlain && control !== undefined))
    for (const { 0: value, 1: path = '', index } of line.matchAll(VALUE))
      changes.push(
        `${line.slice(0, index)}${replacementOf(value, readDefault(values, path))}${line.slice(index + value.length)}`,
      )
  return changes.filter((change) => change !== line)
}

/** Returns an empty result of the same type as the expression. */
function emptyOf(expression: string): string {
  if (MAP_EXPRESSION.test(expression)) return 'dict'
  return LIST_EXPRESSION.test(expression) ? 'list' : '""'
}

/** Returns an expression with another value of the same type as the default. */
function replacementOf(value: string, byDefault: unknown): string {
  if (typeof byDefault === 'boolean') return `(not ${value})`
  if (Array.isArray(byDefault)) return '(list)'
  return typeof byDefault === 'object' && byDefault !== null ? '(dict)' : '"mutant"'
}

/** Returns the default of a value. `path` begins with a dot. */
function readDefault(values: unknown, path: string): unknown {
  return path
    .split('.')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], values)
}
