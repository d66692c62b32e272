import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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

const VALUE = /(?:\$\w*|\.root)?\.Values(?:\.\w+)+/g
const CONTROL = /^\s*\{\{-? *(if|else if|with|range|else|end|define)\b/
/** Matches a line that assigns a new variable. Without this line, the template does not compile. */
const NO_OUTPUT = /:=/

/**
 * Creates the mutants of all templates that render objects. A mutant removes a line (including literal lines),
 * replaces a value, makes a condition constant, or empties a loop.
 */
export function makeTemplateMutants(chart: string): readonly Mutant[] {
  const files = readdirSync(join(chart, 'templates')).filter((name) => !name.endsWith('.txt'))
  return files.flatMap((file) => mutate(file, readFileSync(join(chart, 'templates', file), 'utf8')))
}

function mutate(file: string, template: string): readonly Mutant[] {
  const lines = template.split('\n')
  const comments = new Set(commentLines(template))
  return lines.flatMap((before, index) =>
    (comments.has(index + 1) ? [] : changesOf(before)).map((after): Mutant => {
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

function changesOf(line: string): readonly (string | undefined)[] {
  if (/^\s*#/.test(line)) return []
  const control = CONTROL.exec(line)?.[1]
  const changes: (string | undefined)[] = []
  if (control === 'if' || control === 'else if')
    for (const constant of ['true', 'false'])
      changes.push(line.replace(/(\{\{-? *(?:else )?if) .*? *(-?\}\})/, `$1 ${constant} $2`))
  if (control === 'with') changes.push(line.replace(/(\{\{-? *with) .*? *(-?\}\})/, '$1 "" $2'))
  if (control === 'range') changes.push(line.replace(/(\{\{-? *range (?:.*:=)?).*? *(-?\}\})/, '$1 list $2'))
  if (control === undefined && line.trim() !== '' && !NO_OUTPUT.test(line)) changes.push(undefined)
  // If a condition is only a value, the constants `true` and `false` already replace the value.
  const isPlain = /\{\{-? *(?:if|with) \S+ *-?\}\}/.test(line)
  if (control !== 'range' && !(isPlain && control !== undefined))
    for (const { 0: value, index } of line.matchAll(VALUE))
      changes.push(`${line.slice(0, index)}"mutant"${line.slice(index + value.length)}`)
  return changes.filter((change) => change !== line)
}
