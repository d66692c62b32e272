import { isMap, isScalar, isSeq } from 'yaml'

/** The way from the root to a value: keys and list positions. */
export type YamlPath = readonly (string | number)[]

/** A stretch of the text, in UTF-16 units. */
export type YamlRange = readonly [start: number, end: number]

/**
 * Finds where a value, or the key it stands under, is written.
 * @returns its range; that of the nearest thing above when there is no such value.
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

/** The text of a key; keys that are not text are refused elsewhere. */
export function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value ?? '') : ''
}

/** A block map is shown by its first key, a block list by its first dash, an empty value by its key. */
function rangeOfNode(node: unknown, key?: unknown): YamlRange {
  if (isMap(node) && node.flow !== true && node.items[0] !== undefined) return rangeOfNode(node.items[0].key)
  const range = (node as { range?: readonly number[] | null } | null)?.range
  const [start, end] = [range?.[0] ?? 0, range?.[1] ?? 0]
  if (isSeq(node) && node.flow !== true) return [start, start + 1]
  if (end > start) return [start, end]
  return key === undefined ? [start, start + 1] : rangeOfNode(key)
}
