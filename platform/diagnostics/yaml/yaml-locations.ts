import { isMap, isScalar, isSeq } from 'yaml'

/** The path from the root to a value: keys and list positions. */
export type YamlPath = readonly (string | number)[]

/** A range of the text, in UTF-16 code units. */
export type YamlRange = readonly [start: number, end: number]

/**
 * Finds the range of a value or of its key.
 * @returns the range of the nearest existing ancestor when the value does not exist.
 */
export function findRange(root: unknown, path: YamlPath, part: 'key' | 'value'): YamlRange {
  let node = root
  let key: unknown
  for (const step of path) {
    if (isSeq(node) && typeof step === 'number' && step < node.items.length) {
      key = undefined
      node = node.items[step]
      continue
    }
    const pair = isMap(node) ? node.items.find((one) => keyText(one.key) === String(step)) : undefined
    if (pair === undefined) return rangeOfNode(node, key)
    key = pair.key
    node = pair.value
  }
  return part === 'key' && key !== undefined ? rangeOfNode(key) : rangeOfNode(node, key)
}

/** Returns the text of a key. `findUnsupportedYaml` rejects keys that are not text. */
export function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value ?? '') : ''
}

/** Returns the range to show: a block map's first key, a block list's first dash, or an empty value's key. */
function rangeOfNode(node: unknown, key?: unknown): YamlRange {
  if (isMap(node) && node.flow !== true && node.items[0] !== undefined) return rangeOfNode(node.items[0].key)
  const range = (node as { range?: readonly number[] | null } | null)?.range
  const [start, end] = [range?.[0] ?? 0, range?.[1] ?? 0]
  if (isSeq(node) && node.flow !== true) return [start, start + 1]
  if (end > start) return [start, end]
  return key === undefined ? [start, start + 1] : rangeOfNode(key)
}
