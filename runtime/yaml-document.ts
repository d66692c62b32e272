import { type Document, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml'
import { type Diagnostic, diagnostic, type Place, wholeFile } from './diagnostic.ts'
import { type CodeLetter, readTextFile } from './read-text-file.ts'
import { findRefusedYaml } from './refused-yaml.ts'
import type { TextSource } from './text-source.ts'
import { findRange, keyText, type YamlPath, type YamlRange } from './yaml-places.ts'
import { explainYamlError } from './yaml-syntax.ts'

/** A YAML file as plain data that still knows where each value stands. */
export type YamlDocument = {
  /** The file as people should see it. */
  readonly file: string
  /** Plain data; maps have no prototype. undefined when the text could not be understood. */
  readonly value: unknown
  readonly diagnostics: readonly Diagnostic[]
  /** Where the value (or its key) stands; the nearest thing above it when there is no such value. */
  placeOf(path: YamlPath, part?: 'key' | 'value'): Place
}

type Naming = { readonly shownAs: string; readonly letter: CodeLetter }

const MAX_REPORTED = 50 // of one kind in one file; nobody reads more in one go
const MAX_STUMBLES = 4_000 // errors of the parser over all rounds; each costs time, and after so many the rest can wait
const MAX_REPAIRED_CHARACTERS = 32_768 // a longer text gets its first syntax error only: parsing it often takes long

/** Reads and parses one YAML file, or `source` in its place; whatever is wrong is in `diagnostics`, nothing is thrown. */
export function readYamlFile(file: string, naming: Naming, source?: TextSource): YamlDocument {
  const read = readTextFile(file, naming, source)
  return 'text' in read ? parseYaml(read.text, naming) : unusable(naming.shownAs, [read.problem])
}

/** Parses YAML 1.2 (core schema), one document to a file. What `findRefusedYaml` names is an error. */
export function parseYaml(text: string, { shownAs, letter }: Naming): YamlDocument {
  const at = placeFinder(text, shownAs)
  const control = /(?![\t\n\r])\p{Cc}|\r(?!\n)/u.exec(text)
  if (control !== null) {
    const name = `U+${control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
    const message = `the control character ${name} stands here`
    return unusable(shownAs, [
      diagnostic(`${letter}004`, message, at([control.index, control.index + 1]), { hint: 'remove it' }),
    ])
  }
  const [document, second] = parseDocuments(text)
  if (document === undefined || isEmpty(document)) {
    return unusable(shownAs, [diagnostic(`${letter}002`, 'the file is empty', wholeFile(shownAs))])
  }
  const diagnostics = [...findSyntaxErrors(document, text, letter, at)]
  const told = new Set(diagnostics.map((one) => one.place.line))
  for (const one of findRefusedYaml(document).slice(0, MAX_REPORTED)) {
    if (told.has(at(one.range).line)) continue
    const related = one.first === undefined ? [] : [{ message: 'it was here first', place: at(one.first) }]
    diagnostics.push(
      diagnostic(`${letter}${one.number}`, one.message, at(one.range), { hint: one.hint, related }),
    )
  }
  if (second !== undefined) {
    const marker = text.lastIndexOf('\n---', second.range[0])
    const start = marker === -1 ? second.range[0] : marker + 1
    const hint = 'one document a file: move it into a file of its own'
    diagnostics.push(
      diagnostic(`${letter}017`, 'a second document starts here', at([start, start + 3]), { hint }),
    )
  }
  return {
    file: shownAs,
    value: document.errors.length > 0 ? undefined : toPlain(document.contents),
    diagnostics,
    placeOf: (path, part = 'value') => at(findRange(document.contents, path, part)),
  }
}

function unusable(file: string, diagnostics: readonly Diagnostic[]): YamlDocument {
  return { file, value: undefined, diagnostics, placeOf: () => wholeFile(file) }
}

function parseDocuments(text: string): readonly Document.Parsed[] {
  const documents = parseAllDocuments(text, {
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  return Array.isArray(documents) ? documents : []
}

function isEmpty(document: Document.Parsed): boolean {
  if (document.errors.length > 0) return false
  return document.contents === null || (isScalar(document.contents) && document.contents.value === null)
}

/**
 * Names each slip once: after an error the parser stumbles on, so the first error is put aside and the text parsed again,
 * until nothing is left or the error cannot be put aside.
 */
function findSyntaxErrors(
  document: Document.Parsed,
  text: string,
  letter: CodeLetter,
  at: (range: YamlRange) => Place,
): readonly Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  let rest = text
  let { errors } = document
  let stumbles = 0
  const rounds = text.length > MAX_REPAIRED_CHARACTERS ? 1 : MAX_REPORTED
  for (let round = 0; round < rounds; round++) {
    const [error] = errors
    if (error === undefined) break
    const found = explainYamlError(error, rest)
    const place = at([found.start, found.end])
    if (!diagnostics.some((one) => one.place.line === place.line)) {
      diagnostics.push(diagnostic(`${letter}${found.number}`, found.message, place, { hint: found.hint }))
    }
    if (found.repair === undefined) break
    const { start, text: instead } = found.repair
    const repaired = rest.slice(0, start) + instead + rest.slice(start + instead.length)
    stumbles += errors.length
    if (repaired === rest || stumbles > MAX_STUMBLES) break
    rest = repaired
    errors = parseDocuments(rest)[0]?.errors ?? []
  }
  return diagnostics
}

/** Lines end with LF or CRLF; columns count characters, not UTF-16 units. */
function placeFinder(text: string, file: string): (range: YamlRange) => Place {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), (match) => match.index + 1)]
  return ([start, end]) => {
    const index = Math.max(
      0,
      starts.findLastIndex((one) => one <= start),
    )
    const lineStart = starts[index] ?? 0
    const content = text.slice(lineStart, (starts[index + 1] ?? text.length + 1) - 1).replace(/\r$/, '')
    const column = [...content.slice(0, start - lineStart)].length + 1
    const length = [...content.slice(start - lineStart, end - lineStart)].length
    return { file, line: index + 1, column, length: Math.max(1, length), text: content }
  }
}

function toPlain(node: unknown): unknown {
  if (isScalar(node)) return node.value
  if (isSeq(node)) return node.items.map(toPlain)
  if (!isMap(node)) return null
  const plain: Record<string, unknown> = Object.create(null)
  for (const { key, value } of node.items) {
    const name = keyText(key)
    if (!(name in plain)) plain[name] = toPlain(value)
  }
  return plain
}
