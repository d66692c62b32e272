import { Composer, type Document, type ErrorCode, isMap, isScalar, isSeq, Lexer, Parser } from 'yaml'
import { MAX_PER_CODE } from '../collect-problems.ts'
import { type Diagnostic, diagnostic, type SourceLocation, wholeFile } from '../diagnostic.ts'
import { runSync, type Steps } from '../run-sliced.ts'
import { type CodeLetter, readTextFile } from './read-text-file.ts'
import { createLocationFinder } from './source-location.ts'
import type { TextSource } from './text-source.ts'
import { findUnreadable, findUnsupportedYaml } from './unsupported-yaml.ts'
import { explainYamlError } from './yaml-errors.ts'
import { findRange, keyText, type YamlPath, type YamlRange } from './yaml-locations.ts'

/** A YAML file as plain data, with the source location of each value. */
export type YamlDocument = {
  readonly file: string
  /** Plain data. Maps have no prototype. Undefined when the text has syntax errors. */
  readonly value: unknown
  readonly diagnostics: readonly Diagnostic[]
  /** Returns the location of the value or of its key. Falls back to the nearest existing ancestor. */
  locationOf(path: YamlPath, part?: 'key' | 'value'): SourceLocation
}

type Naming = {
  readonly shownAs: string
  readonly letter: CodeLetter
  /**
   * True for a file that is not in a format of Scopegate, for example an OpenAPI document. Number keys are valid and
   * become text. Unquoted text may begin with a typographic quotation mark.
   */
  readonly foreign?: boolean
}

const STEP_LEXEMES = 512 // one step takes some hundred microseconds
/** Errors after which the parser reads the rest of the text as the author intended. */
const LOCAL_ERRORS: ReadonlySet<ErrorCode> = new Set(['BAD_SCALAR_START', 'BAD_DQ_ESCAPE'])

/** Reads and parses one YAML file, or parses `source`. Never throws: `diagnostics` contains all problems. */
export function readYamlFile(file: string, naming: Naming, source?: TextSource): YamlDocument {
  const read = readTextFile(file, naming, source)
  return 'text' in read ? parseYaml(read.text, naming) : withoutValue(naming.shownAs, [read.problem])
}

/**
 * Parses YAML 1.2 (core schema) with one document per file. Everything that `findUnsupportedYaml` finds is an error.
 */
export function parseYaml(text: string, naming: Naming): YamlDocument {
  return runSync(parseYamlSliced(text, naming))
}

/**
 * Has the same result as `parseYaml`, but parses some lines in each step. The last steps each process the whole
 * document.
 */
export function* parseYamlSliced(text: string, { shownAs, letter, foreign }: Naming): Steps<YamlDocument> {
  const at = createLocationFinder(text, shownAs)
  const unreadable = findUnreadable(text, letter, at)
  if (unreadable.length > 0) return withoutValue(shownAs, unreadable)
  const [document, second] = yield* parseDocuments(text)
  if (document === undefined || isEmpty(document)) {
    return withoutValue(shownAs, [diagnostic(`${letter}002`, 'the file is empty', wholeFile(shownAs))])
  }
  yield
  const diagnostics = findSyntaxErrors(document, text, letter, at)
  const reportedLines = new Set(diagnostics.map((one) => one.location.line))
  yield
  for (const one of findUnsupportedYaml(document, text, { foreign })) {
    if (reportedLines.size >= MAX_PER_CODE) break
    const { line } = at(one.range)
    if (reportedLines.has(line)) continue
    reportedLines.add(line)
    const related =
      one.first === undefined ? [] : [{ message: 'the first definition', location: at(one.first) }]
    diagnostics.push(
      diagnostic(`${letter}${one.number}`, one.message, at(one.range), { hint: one.hint, related }),
    )
  }
  yield
  if (second !== undefined) {
    const marker = text.lastIndexOf('\n---', second.range[0])
    const start = marker === -1 ? second.range[0] : marker + 1
    const hint = 'a file has one document: move this document to a separate file'
    diagnostics.push(
      diagnostic(`${letter}017`, 'a second document starts here', at([start, start + 3]), { hint }),
    )
  }
  return {
    file: shownAs,
    value: document.errors.length > 0 ? undefined : toPlain(document.contents),
    diagnostics,
    locationOf: (path, part = 'value') => at(() => findRange(document.contents, path, part)),
  }
}

/** Returns the document of an unreadable or malformed file. */
export function withoutValue(file: string, diagnostics: readonly Diagnostic[]): YamlDocument {
  return { file, value: undefined, diagnostics, locationOf: () => wholeFile(file) }
}

/** Has the same result as `parseAllDocuments` of the library, but works in steps. */
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
 * Explains the errors of the parser, up to the first error that is not in LOCAL_ERRORS. Such an error can cause the
 * errors that follow.
 */
function findSyntaxErrors(
  { errors }: Document.Parsed,
  text: string,
  letter: CodeLetter,
  at: (range: YamlRange) => SourceLocation,
): Diagnostic[] {
  const diagnostics: Diagnostic[] = []
  for (const error of errors.slice(0, MAX_PER_CODE)) {
    const { number, message, hint, range } = explainYamlError(error, text)
    const location = at(range)
    if (!diagnostics.some((one) => one.location.line === location.line))
      diagnostics.push(diagnostic(`${letter}${number}`, message, location, { hint }))
    if (!LOCAL_ERRORS.has(error.code)) break
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
