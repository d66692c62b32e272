import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  visit,
} from 'yaml'
import { type Diagnostic, diagnostic, type Place, wholeFile } from './diagnostic.ts'
import { type CodeLetter, readTextFile } from './read-text-file.ts'
import { explainYamlError } from './yaml-syntax.ts'

/** The way from the root to a value: keys and list positions. */
export type YamlPath = readonly (string | number)[]

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

/** Reads and parses one YAML file; whatever is wrong is in `diagnostics`, nothing is thrown. */
export function readYamlFile(file: string, options: { shownAs: string; letter: CodeLetter }): YamlDocument {
  const read = readTextFile(file, options)
  if ('text' in read) return parseYaml(read.text, options)
  return unusable(options.shownAs, [read.problem])
}

/**
 * Parses YAML 1.2 (core schema), one document. Refused, because two readers would read them differently: duplicate
 * keys, anchors, aliases, merge keys, tags, directives and keys that are not text.
 */
export function parseYaml(text: string, options: { shownAs: string; letter: CodeLetter }): YamlDocument {
  const { shownAs, letter } = options
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  const counter = new LineCounter()
  const at = (start: number, end: number): Place => {
    const { line, col } = counter.linePos(start)
    const content = lines[line - 1] ?? ''
    const column = [...content.slice(0, col - 1)].length + 1
    const length = [...content.slice(col - 1, col - 1 + Math.max(1, end - start))].length
    return { file: shownAs, line, column, length: Math.max(1, length), text: content }
  }
  const control = /(?![\t\n\r])\p{Cc}|\r(?!\n)/u.exec(text)
  if (control !== null) {
    for (const match of text.matchAll(/\n/g)) counter.addNewLine(match.index + 1)
    counter.lineStarts.unshift(0)
    const name = `U+${control[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
    const problem = diagnostic(
      `${letter}004`,
      `the control character ${name} stands here`,
      at(control.index, control.index + 1),
      { hint: 'remove it' },
    )
    return unusable(shownAs, [problem])
  }
  const documents = parseAllDocuments(text, {
    lineCounter: counter,
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  const [document] = Array.isArray(documents) ? documents : []
  if (document === undefined || document.contents === null || isEmptyScalar(document)) {
    return unusable(shownAs, [diagnostic(`${letter}002`, 'the file is empty', wholeFile(shownAs))])
  }
  const diagnostics = [...syntaxErrors(document, text, letter, at), ...refusedFeatures(document, letter, at)]
  const second = documents[1]
  if (second !== undefined) {
    const start = Math.max(0, text.lastIndexOf('\n', second.range[0] - 1) + 1)
    diagnostics.push(
      diagnostic(`${letter}017`, 'a second document starts here', at(start, start + 3), {
        hint: 'one document a file: move it into a file of its own',
      }),
    )
  }
  const root = document.contents
  const broken = document.errors.length > 0
  return Object.freeze({
    file: shownAs,
    value: broken ? undefined : toPlain(root),
    diagnostics: firstOfEachLine(diagnostics),
    placeOf: (path: YamlPath, part: 'key' | 'value' = 'value') => at(...rangeOf(root, path, part)),
  })
}

function unusable(file: string, diagnostics: readonly Diagnostic[]): YamlDocument {
  return { file, value: undefined, diagnostics, placeOf: () => wholeFile(file) }
}

function isEmptyScalar(document: Document.Parsed): boolean {
  return isScalar(document.contents) && document.contents.value === null && document.errors.length === 0
}

type At = (start: number, end: number) => Place

function syntaxErrors(document: Document.Parsed, text: string, letter: CodeLetter, at: At): Diagnostic[] {
  return document.errors.map((error) => {
    const found = explainYamlError(error, text)
    return diagnostic(`${letter}${found.number}`, found.message, at(found.start, found.end), {
      hint: found.hint,
    })
  })
}

function refusedFeatures(document: Document.Parsed, letter: CodeLetter, at: At): Diagnostic[] {
  const found: Diagnostic[] = []
  const refuse = (
    range: readonly number[] | null | undefined,
    message: string,
    hint: string,
    number = '016',
    length = 1,
  ) => {
    const start = range?.[0] ?? 0
    found.push(
      diagnostic(`${letter}${number}`, message, at(start, Math.max(start + length, range?.[1] ?? 0)), {
        hint,
      }),
    )
  }
  if (document.directives?.yaml.explicit === true)
    refuse([0, 0], 'directives are not read', 'remove this line', '016', 5)
  visit(document, {
    Alias: (_, node) =>
      refuse(
        node.range,
        'a value that starts with * is an alias, and aliases are not read',
        `write "*${node.source}" if you mean the text, or repeat the value`,
      ),
    Node: (_, node) => {
      if (isAlias(node)) return
      if (node.anchor !== undefined)
        refuse(
          node.range,
          `this value carries the anchor &${node.anchor}, and anchors are not read`,
          'remove the anchor, or quote the value',
        )
      else if (node.tag !== undefined)
        refuse(node.range, `this value carries the tag ${node.tag}, and tags are not read`, 'remove the tag')
    },
    Map: (_, node) => {
      const seen = new Map<string, readonly number[] | null | undefined>()
      for (const { key } of node.items) {
        if (!isScalar(key)) {
          if (!isAlias(key))
            refuse(
              (key as ParsedNode | null)?.range ?? node.range,
              'a list or map stands where a key should',
              'quote the key if it is text',
            )
          continue
        }
        const name = String(key.value ?? '')
        if (typeof key.value !== 'string')
          refuse(key.range, `the key ${JSON.stringify(key.value)} is not text`, `write "${key.source ?? ''}"`)
        else if (name === '<<' && key.type === 'PLAIN')
          refuse(key.range, 'merge keys are not read', 'write the keys out')
        else if (seen.has(name)) {
          const first = seen.get(name)
          const place = at(first?.[0] ?? 0, first?.[1] ?? 0)
          const [start, end] = [key.range?.[0] ?? 0, key.range?.[1] ?? 0]
          found.push(
            diagnostic(`${letter}015`, `the key ${JSON.stringify(name)} is here twice`, at(start, end), {
              hint: 'keep one',
              related: [{ message: 'it was here first', place }],
            }),
          )
        }
        if (!seen.has(name)) seen.set(name, key.range)
      }
    },
  })
  return found
}

/** One slip makes the parser complain several times; the first complaint on a line is the one that helps. */
function firstOfEachLine(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const lines = new Set<number | undefined>()
  return diagnostics.filter((one) => !lines.has(one.place.line) && lines.add(one.place.line))
}

function toPlain(node: unknown): unknown {
  if (isScalar(node)) return node.value
  if (isSeq(node)) return node.items.map(toPlain)
  if (!isMap(node)) return null
  const plain: Record<string, unknown> = Object.create(null)
  for (const { key, value } of node.items) {
    const name = isScalar(key) ? String(key.value ?? '') : ''
    if (!(name in plain)) plain[name] = toPlain(value)
  }
  return plain
}

function rangeOf(root: unknown, path: YamlPath, part: 'key' | 'value'): [start: number, end: number] {
  let node = root
  let key: unknown
  for (const step of path) {
    if (isSeq(node) && typeof step === 'number' && step < node.items.length) {
      key = undefined
      node = node.items[step]
      continue
    }
    const pair = isMap(node)
      ? node.items.find((one) => isScalar(one.key) && String(one.key.value ?? '') === String(step))
      : undefined
    if (pair === undefined) return nodeRange(node, key)
    key = pair.key
    node = pair.value
  }
  return part === 'key' && key !== undefined ? nodeRange(key, undefined) : nodeRange(node, key)
}

/** A block map or list is shown by its first key or its dash; an empty value by its key. */
function nodeRange(node: unknown, key: unknown): [start: number, end: number] {
  if (isMap(node) && node.flow !== true && node.items[0] !== undefined)
    return nodeRange(node.items[0].key, undefined)
  if (isSeq(node) && node.flow !== true && node.range) return [node.range[0], node.range[0] + 1]
  const range = (node as ParsedNode | null)?.range
  if (range && range[1] > range[0]) return [range[0], range[1]]
  if (key !== undefined) return nodeRange(key, undefined)
  return [range?.[0] ?? 0, (range?.[0] ?? 0) + 1]
}
