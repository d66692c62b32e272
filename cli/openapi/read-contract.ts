import { diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { readTextFile } from '../../platform/diagnostics/yaml/read-text-file.ts'
import { createLocationFinder } from '../../platform/diagnostics/yaml/source-location.ts'
import { readTextSource } from '../../platform/diagnostics/yaml/text-source.ts'
import { parseYaml, withoutValue, type YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath, YamlRange } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { type ParsedJson, parseJsonText } from './json-syntax.ts'

const MAX_BYTES = 16 * 1024 * 1024 // the largest descriptions of public APIs have about 12 MB

/**
 * Reads an OpenAPI document, JSON or YAML, as plain data with source locations. `diagnostics` contains the problems.
 * Cost: one synchronous read of at most 16 MiB.
 * Codes: O001 the file cannot be read, O002 the text is neither JSON nor YAML.
 */
export function readContract(file: string): YamlDocument {
  const shownAs = displayPath(file)
  const read = readTextFile(file, { shownAs, letter: 'O' }, readTextSource(file, MAX_BYTES))
  if ('text' in read) return parseContract(read.text, shownAs)
  return withoutValue(shownAs, [{ ...read.problem, code: 'O001' }])
}

/** Parses the text of a contract in the same way as `readContract()`. Text that begins with `{` or `[` is JSON. */
export function parseContract(text: string, shownAs: string): YamlDocument {
  if (/^\s*[{[]/.test(text)) return fromJson(text, shownAs)
  const document = parseYaml(text, { shownAs, letter: 'O', foreign: true })
  return { ...document, diagnostics: document.diagnostics.map((one) => ({ ...one, code: 'O002' })) }
}

function fromJson(text: string, shownAs: string): YamlDocument {
  const parsed = parseJsonText(text)
  const at = createLocationFinder(text, shownAs)
  const diagnostics = parsed.problems.slice(0, 50).map(({ message, range, first }) =>
    diagnostic('O002', message, at(range), {
      related: first === undefined ? [] : [{ message: 'the first definition', location: at(first) }],
    }),
  )
  return {
    file: shownAs,
    value: parsed.value,
    diagnostics,
    locationOf: (path, part = 'value') => at(rangeIn(parsed, path, part)),
  }
}

/**
 * Returns the range of a key or a value. For a missing value, returns the range of the nearest existing ancestor. For
 * an object or a list, returns only the range of its key. `findRange()` has the same rules for YAML.
 */
function rangeIn({ value, offsets }: ParsedJson, path: YamlPath, part: 'key' | 'value'): YamlRange {
  let node = value
  let found: readonly [number, number, number, number] = [0, 1, 0, 1]
  let whole = true
  for (const step of path) {
    const members = typeof node === 'object' && node !== null ? offsets.get(node) : undefined
    const next = members?.get(String(step))
    if (next === undefined) {
      whole = false
      break
    }
    found = next
    node = (node as Record<string, unknown>)[String(step)]
  }
  if (whole && part === 'key') return [found[0], found[1]]
  return typeof node === 'object' && node !== null ? [found[0], found[1]] : [found[2], found[3]]
}
