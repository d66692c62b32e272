import { type Document, isAlias, isScalar, visit, type YAMLMap } from 'yaml'
import { keyText, type YamlRange } from './yaml-places.ts'

/** A part of YAML that is not read, and what to write instead. */
export type RefusedYaml = {
  readonly number: '015' | '016'
  readonly message: string
  readonly hint: string
  readonly range: YamlRange
  /** Where a doubled key was first. */
  readonly first?: YamlRange
}

/**
 * Finds what two readers of a file would read differently: duplicate keys (015); anchors, aliases, merge keys, tags,
 * directives and keys that are not text (016).
 */
export function findRefusedYaml(document: Document.Parsed): readonly RefusedYaml[] {
  const found: RefusedYaml[] = []
  const refuse = (range: readonly number[] | null | undefined, message: string, hint: string) =>
    found.push({ number: '016', message, hint, range: toRange(range) })
  if (document.directives?.yaml.explicit === true)
    refuse([0, 5], 'directives are not read', 'remove this line')
  visit(document, {
    Alias: (_, { range, source }) => {
      const message = 'a value that starts with * is an alias, and aliases are not read'
      refuse(range, message, `write "*${source}" if you mean the text, or repeat the value`)
    },
    Node: (_, node) => {
      if (isAlias(node)) return
      const { anchor, tag, range } = node
      if (anchor !== undefined)
        refuse(range, `&${anchor} is an anchor, and anchors are not read`, 'remove it, or quote the value')
      else if (tag !== undefined)
        refuse(
          range,
          `this value carries the tag ${tag.replace('tag:yaml.org,2002:', '!!')}, and tags are not read`,
          'remove the tag',
        )
    },
    Map: (_, map) => {
      found.push(...checkKeys(map))
    },
  })
  return found
}

function checkKeys(map: YAMLMap): readonly RefusedYaml[] {
  const found: RefusedYaml[] = []
  const seen = new Map<string, YamlRange>()
  for (const { key } of map.items) {
    if (isAlias(key)) continue
    const range = toRange((key as { range?: readonly number[] } | null)?.range ?? map.range)
    const name = keyText(key)
    const first = seen.get(name)
    if (!isScalar(key)) {
      found.push({
        number: '016',
        message: 'a list or map stands where a key should',
        hint: 'quote the key if it is text',
        range,
      })
      continue
    }
    if (typeof key.value !== 'string') {
      found.push({
        number: '016',
        message: `the key ${JSON.stringify(key.value)} is not text`,
        hint: `write "${key.source ?? ''}"`,
        range,
      })
    } else if (name === '<<' && key.type === 'PLAIN') {
      found.push({ number: '016', message: 'merge keys are not read', hint: 'write the keys out', range })
    } else if (first !== undefined) {
      found.push({
        number: '015',
        message: `the key ${JSON.stringify(name)} is here twice`,
        hint: 'keep one',
        range,
        first,
      })
    }
    if (first === undefined) seen.set(name, range)
  }
  return found
}

function toRange(range: readonly number[] | null | undefined): YamlRange {
  const start = range?.[0] ?? 0
  return [start, Math.max(start + 1, range?.[1] ?? 0)]
}
