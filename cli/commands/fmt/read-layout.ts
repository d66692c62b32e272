import { type CST, isMap, isScalar, isSeq, type Pair, parseDocument } from 'yaml'
import type { Collection, Item, Value } from './layout-tree.ts'

/** Reads a valid YAML text into a layout tree, without comments. */
export function readLayout(text: string): Collection {
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    keepSourceTokens: true,
    logLevel: 'silent',
  })
  const root = toValue(document.contents, text)
  if (root.kind === 'scalar') throw new Error('a policy is a map')
  return root
}

function toValue(node: unknown, text: string): Value {
  const [start, end] = rangeOf(node)
  if (isMap(node)) {
    const items = node.items.map((pair) => toPairItem(pair, text))
    const flow = node.flow === true
    return { kind: 'map', items, flow, start, end: flow ? end : (items.at(-1)?.end ?? end), tail: [] }
  }
  if (isSeq(node)) {
    const flow = node.flow === true
    const dashes = flow ? [] : dashesOf(node.srcToken)
    const items = node.items.map((entry, index) => toListItem(entry, dashes[index], text))
    return { kind: 'list', items, flow, start, end: flow ? end : (items.at(-1)?.end ?? end), tail: [] }
  }
  if (!isScalar(node)) return { kind: 'scalar', data: null, source: 'null' }
  return { kind: 'scalar', data: node.value, source: text.slice(start, end) }
}

function toPairItem({ key, value }: Pair, text: string): Item {
  const [start, keyEnd] = rangeOf(key)
  const inner = toValue(value, text)
  const end = inner.kind === 'scalar' ? Math.max(keyEnd, rangeOf(value)[1]) : inner.end
  const name = isScalar(key) ? String(key.value ?? '') : ''
  return anItem({ key: name, value: inner, start, end }, text)
}

function toListItem(entry: unknown, dash: number | undefined, text: string): Item {
  const inner = toValue(entry, text)
  const [start, end] = rangeOf(entry)
  return anItem(
    { key: undefined, value: inner, start: dash ?? start, end: inner.kind === 'scalar' ? end : inner.end },
    text,
  )
}

function anItem(item: Pick<Item, 'key' | 'value' | 'start' | 'end'>, text: string): Item {
  const lineStart = text.lastIndexOf('\n', item.start - 1) + 1
  const isFirst = text.slice(lineStart, item.start).trim() === ''
  return {
    ...item,
    column: item.start - lineStart,
    before: [],
    trailing: undefined,
    blankBefore: isFirst && /\n[ \t]*\n$/.test(text.slice(0, lineStart)),
  }
}

/** Returns the offsets of the dashes of a list, which only the source tokens contain. */
function dashesOf(token: CST.Token | undefined): readonly number[] {
  if (token?.type !== 'block-seq') return []
  return token.items.flatMap(({ start }) => {
    const dash = start.find(({ type }) => type === 'seq-item-ind')
    return dash === undefined ? [] : [dash.offset]
  })
}

function rangeOf(node: unknown): readonly [number, number] {
  const range = (node as { range?: readonly number[] | null } | null)?.range
  return [range?.[0] ?? 0, range?.[1] ?? 0]
}
