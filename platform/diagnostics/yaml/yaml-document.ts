import { Composer, type Document, isMap, isScalar, isSeq, Lexer, Parser } from 'yaml'
import { MAX_PER_CODE } from '../cap-per-code.ts'
import { type Diagnostic, diagnostic, type SourceLocation, wholeFile } from '../diagnostic.ts'
import { runSync, type Steps } from '../run-sliced.ts'
import { type CodeLetter, readTextFile } from './read-text-file.ts'
import { createLocationFinder } from './source-location.ts'
import type { TextSource } from './text-source.ts'
import { findUnreadable } from './unreadable-characters.ts'
import { findUnsupportedYaml } from './unsupported-yaml.ts'
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
  placeOf(path: YamlPath, part?: 'key' | 'value'): SourceLocation
}

type Naming = {
  readonly shownAs: string
  readonly letter: CodeLetter
  /** A file of another format than ours: keys may be numbers, and become text; text may begin with any quotation mark. */
  readonly foreign?: boolean
}

const STEP_LEXEMES = 512 // some hundred microseconds' worth
const MAX_STUMBLES = 4_000 // errors of the parser over all rounds; each costs time, and after so many the rest can wait
const MAX_REPAIRED_CHARACTERS = 32_768 // a longer text gets its first syntax error only: parsing it often takes long

/** Reads and parses one YAML file, or `source` in its place; whatever is wrong is in `diagnostics`, nothing is thrown. */
export function readYamlFile(file: string, naming: Naming, source?: TextSource): YamlDocument {
  const read = readTextFile(file, naming, source)
  return 'text' in read ? parseYaml(read.text, naming) : unusable(naming.shownAs, [read.problem])
}

/** Parses YAML 1.2 (core schema), one document to a file. What `findUnsupportedYaml` names is an error. */
export function parseYaml(text: string, naming: Naming): YamlDocument {
  return runSync(parseYamlSliced(text, naming))
}

/** The same in steps of some lines each, and some for the whole of it. */
export function* parseYamlSliced(text: string, { shownAs, letter, foreign }: Naming): Steps<YamlDocument> {
  const at = createLocationFinder(text, shownAs)
  const unreadable = findUnreadable(text, letter, at)
  if (unreadable.length > 0) return unusable(shownAs, unreadable)
  const [document, second] = yield* parseDocuments(text)
  if (document === undefined || isEmpty(document)) {
    return unusable(shownAs, [diagnostic(`${letter}002`, 'the file is empty', wholeFile(shownAs))])
  }
  yield
  const diagnostics = [...(yield* findSyntaxErrors(document, text, letter, at))]
  const told = new Set(diagnostics.map((one) => one.place.line))
  yield
  for (const one of findUnsupportedYaml(document, text, { foreign })) {
    if (told.size >= MAX_PER_CODE) break
    const { line } = at(one.range)
    if (told.has(line)) continue
    told.add(line)
    const related = one.first === undefined ? [] : [{ message: 'it was here first', place: at(one.first) }]
    diagnostics.push(
      diagnostic(`${letter}${one.number}`, one.message, at(one.range), { hint: one.hint, related }),
    )
  }
  yield
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
    placeOf: (path, part = 'value') => at(() => findRange(document.contents, path, part)),
  }
}

function unusable(file: string, diagnostics: readonly Diagnostic[]): YamlDocument {
  return { file, value: undefined, diagnostics, placeOf: () => wholeFile(file) }
}

/** The library's own `parseAllDocuments`, piece by piece. */
function* parseDocuments(text: string): Steps<readonly Document.Parsed[]> {
  const parser = new Parser()
  const composer = new Composer({
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const documents: Document.Parsed[] = []
  let read = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) documents.push(...composer.next(token))
    if (++read % STEP_LEXEMES === 0) yield
  }
  yield
  for (const token of parser.end()) documents.push(...composer.next(token))
  documents.push(...composer.end())
  return documents
}

function isEmpty(document: Document.Parsed): boolean {
  if (document.errors.length > 0) return false
  return document.contents === null || (isScalar(document.contents) && document.contents.value === null)
}

/**
 * Names each slip once: after an error the parser stumbles on, so the first error is put aside and the text parsed again,
 * until nothing is left or the error cannot be put aside.
 */
function* findSyntaxErrors(
  document: Document.Parsed,
  text: string,
  letter: CodeLetter,
  at: (range: YamlRange) => SourceLocation,
): Steps<readonly Diagnostic[]> {
  const diagnostics: Diagnostic[] = []
  let rest = text
  let { errors } = document
  let stumbles = 0
  const rounds = text.length > MAX_REPAIRED_CHARACTERS ? 1 : MAX_PER_CODE
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
    errors = (yield* parseDocuments(rest))[0]?.errors ?? []
  }
  return diagnostics
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
