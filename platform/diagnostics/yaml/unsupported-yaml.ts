import { type Document, isAlias, isMap, isScalar, visit, type YAMLMap } from 'yaml'
import { MAX_PER_CODE } from '../collect-problems.ts'
import { type Diagnostic, diagnostic, type SourceLocation } from '../diagnostic.ts'
import type { CodeLetter } from './read-text-file.ts'
import { typographicQuotes } from './yaml-errors.ts'
import { keyText, type YamlRange } from './yaml-locations.ts'

/** A YAML feature that the gateway rejects, and the text to write instead. */
type UnsupportedYaml = {
  readonly number: '015' | '016' | '019'
  readonly message: string
  readonly hint: string
  readonly range: YamlRange
  /** Range of the first occurrence of a duplicate key. */
  readonly first: YamlRange | undefined
}

type Report = (
  range: YamlRange,
  message: string,
  hint: string,
  number?: UnsupportedYaml['number'],
  first?: YamlRange,
) => void

/**
 * Finds YAML that parsers interpret differently:
 * - 015: duplicate keys.
 * - 016: anchors, aliases, merge keys, tags, directives, and keys that are not text.
 * - 019: texts with missing or wrong quotes.
 */
export function findUnsupportedYaml(
  document: Document.Parsed,
  text: string,
  options: { readonly foreign?: boolean | undefined } = {},
): readonly UnsupportedYaml[] {
  const isForeign = options.foreign === true
  const found: UnsupportedYaml[] = []
  const report: Report = (range, message, hint, number = '016', first = undefined) =>
    found.push({ number, message, hint, range, first })
  const anchors = new Set<string>()
  if (document.directives?.yaml.explicit === true)
    report(findDirective(text), 'directives are not supported', 'remove this line')
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) {
        const quoted = `write "*${node.source}"`
        if (anchors.has(node.source))
          report(
            toRange(node.range),
            'a value that starts with * is an alias, and aliases are not supported',
            `repeat the value, or ${quoted} if you mean the text`,
          )
        else report(toRange(node.range), 'a value that starts with * needs quotes', quoted, '019')
        return
      }
      const typographic =
        !isForeign && isScalar(node) && node.type === 'PLAIN'
          ? typographicQuotes(node.source ?? '')
          : undefined
      if (typographic !== undefined) {
        report(toRange(node.range), typographic.message, typographic.hint, '019')
        return
      }
      const { anchor, tag, range } = node
      if (anchor !== undefined) {
        anchors.add(anchor)
        const location = findProperty(text, `&${anchor}`, range)
        report(
          location,
          `&${anchor} is an anchor, and anchors are not supported`,
          'remove the anchor, or quote the value',
        )
      } else if (tag !== undefined) {
        const written = tag.replace('tag:yaml.org,2002:', '!!')
        const location = findProperty(text, written, range)
        report(location, `this value has the tag ${written}, and tags are not supported`, 'remove the tag')
      }
      // The parse result of an invalid file can contain keys that the file does not contain.
      if (isMap(node) && document.errors.length === 0) checkKeys(node, isForeign, report)
    },
  })
  return found
}

function findDirective(text: string): YamlRange {
  const found = /^%\S*/m.exec(text)
  return found === null ? [0, 1] : [found.index, found.index + found[0].length]
}

/** Returns the range of an anchor or tag, which precedes its value. The range of a node covers only the value. */
function findProperty(text: string, written: string, range: readonly number[] | null | undefined): YamlRange {
  const start = text.lastIndexOf(written, range?.[0] ?? 0)
  return start === -1 ? toRange(range) : [start, start + written.length]
}

function checkKeys(map: YAMLMap, numberKeys: boolean, report: Report): void {
  const seen = new Map<string, YamlRange>()
  for (const { key } of map.items) {
    if (isAlias(key)) continue
    const range = toRange((key as { range?: readonly number[] } | null)?.range ?? map.range)
    if (!isScalar(key)) {
      report(range, 'a list or map cannot be a key', 'quote the key if it is text')
      continue
    }
    const name = keyText(key)
    const first = seen.get(name)
    if (typeof key.value !== 'string' && !(numberKeys && typeof key.value === 'number'))
      report(range, `the key ${JSON.stringify(key.value)} is not text`, `write "${key.source ?? ''}"`)
    else if (name === '<<' && key.type === 'PLAIN')
      report(range, 'merge keys are not supported', 'write each key')
    else if (first !== undefined)
      report(range, `the key ${JSON.stringify(name)} is defined twice`, 'keep one', '015', first)
    if (first === undefined) seen.set(name, range)
  }
}

function toRange(range: readonly number[] | null | undefined): YamlRange {
  const start = range?.[0] ?? 0
  return [start, Math.max(start + 1, range?.[1] ?? 0)]
}

/**
 * Finds invisible characters that change the meaning of a file: control characters (004), and indentation with spaces
 * other than U+0020 (011).
 */
export function findUnreadable(
  text: string,
  letter: CodeLetter,
  at: (range: YamlRange) => SourceLocation,
): readonly Diagnostic[] {
  const control = /(?![\t\n\r])\p{Cc}|\r(?!\n)/u.exec(text)
  if (control !== null) {
    const location = at([control.index, control.index + 1])
    if (control[0] === '\r' && !text.includes('\n'))
      return [
        diagnostic(`${letter}004`, 'the lines end with CR only', location, {
          hint: 'save the file with LF or CRLF',
        }),
      ]
    const message = `the control character ${nameOf(control[0])} is not allowed`
    return [diagnostic(`${letter}004`, message, location, { hint: 'remove this character' })]
  }
  const found: Diagnostic[] = []
  for (const one of text.matchAll(/(?<=(?:^|\n)[ \t]*)[\u00a0\u2000-\u200b\u202f\u205f\u3000]+/gu)) {
    const message = `this line is indented with a nonstandard space (${nameOf(one[0])})`
    const location = at([one.index, one.index + one[0].length])
    found.push(diagnostic(`${letter}011`, message, location, { hint: 'use spaces' }))
    if (found.length === MAX_PER_CODE) break
  }
  return found
}

function nameOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`
}
