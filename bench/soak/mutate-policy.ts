import { randomBelow, randomOf } from './random.ts'

type Mutation = (lines: readonly string[], at: number) => readonly string[] | undefined

/** Common mistakes in YAML files. Each function returns undefined for a line that it cannot change. */
const MUTATIONS: readonly [Mutation, ...Mutation[]] = [
  // a misspelled key
  (lines, at) => change(lines, at, /([a-z])([a-z])(?=[a-zA-Z]*:)/, '$2$1x'),
  // an unknown scope
  (lines, at) => change(lines, at, /\[(\w+):(read|write)\]/, '[$1s:$2]'),
  // an invalid value
  (lines, at) => change(lines, at, /\b(GET|POST|challenge|allow|deny)\b/, 'x$1'),
  // a number instead of a duration
  (lines, at) => change(lines, at, /timeout: \w+/, 'timeout: soon'),
  // a bracket that is never closed
  (lines, at) => change(lines, at, /\]/, ''),
  (lines, at) => change(lines, at, /\}/, ''),
  // a quote that is never closed
  (lines, at) => change(lines, at, /": /, ': '),
  (lines, at) => change(lines, at, /"(\/[^"]*)"/, '"$1'),
  // a tab
  (lines, at) => change(lines, at, /^ {2}/, '\t'),
  // a line that is indented deeper
  (lines, at) => change(lines, at, /^( *)(\w)/, '$1   $2'),
  // a duplicate line
  (lines, at) => lines.toSpliced(at, 0, lines[at] ?? ''),
  // a missing line
  (lines, at) => lines.toSpliced(at, 1),
  // the end is missing
  (lines, at) => [...lines.slice(0, at), (lines[at] ?? '').slice(0, randomBelow((lines[at] ?? '').length))],
  // an invalid path
  (lines, at) => change(lines, at, /path: (\S)/, 'path: no$1'),
  // a leftover merge conflict
  (lines, at) => lines.toSpliced(at, 0, '<<<<<<< HEAD'),
  // a list instead of { all: [] }
  (lines, at) => change(lines, at, /scopes: \{ all: (\[[^\]]*\]) \}/, 'scopes: $1'),
]

function change(
  lines: readonly string[],
  at: number,
  what: RegExp,
  to: string,
): readonly string[] | undefined {
  const line = lines[at] ?? ''
  const changed = line.replace(what, to)
  return changed === line ? undefined : lines.with(at, changed)
}

/** Makes one common mistake in a text. The result can still be valid. */
export function mutatePolicy(text: string): string {
  const lines = text.split('\n')
  for (;;) {
    const mutated = randomOf(MUTATIONS)(lines, randomBelow(lines.length))
    if (mutated !== undefined) return mutated.join('\n')
  }
}
