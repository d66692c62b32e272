import type { Collection, Item, OwnLine, Value } from './layout-tree.ts'
import { writeLiteral, writeScalar } from './write-scalar.ts'

/** A collection up to this width and nesting depth is written on one line. */
const WIDTH = 110
const DEPTH = 2

/** Top-level keys with an empty line above them. */
const SECTIONS: ReadonlySet<string> = new Set(['defaults', 'routes', 'tests'])
/** Lists whose entries always start on their own lines, and lists with empty lines between entries. */
const SPREAD: ReadonlySet<string> = new Set(['routes', 'tests', 'when'])
const SPACED: ReadonlySet<string> = new Set(['routes'])

/** Formats the tree in the canonical layout of policy files. Ends with a line break. */
export function writeLayout(root: Collection, head: readonly OwnLine[], isHeadDetached: boolean): string {
  hoistFirstComments(root)
  const lines = [
    ...writeOwnLines(withoutFirstBlank(head), ''),
    ...(isHeadDetached ? [''] : []),
    ...writeMap(root, '', true),
    ...writeOwnLines(root.tail, ''),
  ]
  return `${lines.join('\n')}\n`
}

function writeMap(map: Collection, indent: string, isTop: boolean): readonly string[] {
  return map.items.flatMap((item, index) => {
    const wantsBlank = isTop && [item, map.items[index - 1]].some((one) => SECTIONS.has(one?.key ?? ''))
    return [
      ...writeAbove(item, indent, { isFirst: index === 0, wantsBlank, keepsBlank: isTop }),
      ...writeValue(`${indent}${writeScalar(item.key, '', 'key')}:`, item, indent, isTop),
    ]
  })
}

function writeList(list: Collection, indent: string, key: string, isTop: boolean): readonly string[] {
  const rule = { wantsBlank: isTop && SPACED.has(key), keepsBlank: isTop }
  return list.items.flatMap((item, index) => {
    const line = writeShortItem(item, indent, isTop && SPREAD.has(key))
    if (line === undefined) hoistTrailing(item, indent)
    return [
      ...writeAbove(item, indent, { isFirst: index === 0, ...rule }),
      ...(line === undefined ? writeLongItem(item, indent) : [line]),
    ]
  })
}

/** Returns an entry of a list on one line, or undefined when it needs several lines. */
function writeShortItem(item: Item, indent: string, isSpread: boolean): string | undefined {
  const { value } = item
  if (value.kind === 'scalar') {
    const lines = writeValue(`${indent}-`, item, indent, false)
    return lines.length === 1 ? lines[0] : undefined
  }
  const isSplit = isSpread && value.items.some((one) => one.value.kind !== 'scalar')
  if (isSplit || !isOnOneLine(value)) return undefined
  const line = `${indent}- ${writeFlow(value)}`
  return line.length <= WIDTH || value.items.length === 0 ? `${line}${writeTrailing(item)}` : undefined
}

/**
 * Moves the trailing comment of a multi-line entry above its dash. If two dashes share a line, moves it above the outer
 * one.
 */
function hoistTrailing(item: Item, indent: string): void {
  const { value, trailing } = item
  if (value.kind === 'scalar') return
  if (trailing !== undefined) item.before.push({ text: trailing, blankBefore: false })
  item.trailing = undefined
  const [first] = value.items
  const inner = `${indent}  `
  if (value.kind !== 'list' || first === undefined || writeShortItem(first, inner, false) !== undefined)
    return
  hoistTrailing(first, inner)
  item.before.push(...first.before.splice(0))
}

/** Moves comments above an entry's first line to above its dash, because that line follows the dash. */
function hoistFirstComments(collection: Collection): void {
  for (const { value, before } of collection.items) {
    if (value.kind === 'scalar') continue
    hoistFirstComments(value)
    if (collection.kind === 'list') before.push(...(value.items[0]?.before.splice(0) ?? []))
  }
}

function writeLongItem(item: Item, indent: string): readonly string[] {
  const { value } = item
  if (value.kind === 'scalar') return writeValue(`${indent}-`, item, indent, false)
  const inner = `${indent}  `
  const [first = '', ...rest] =
    value.kind === 'map' ? writeMap(value, inner, false) : writeList(value, inner, '', false)
  return [`${indent}- ${first.slice(inner.length)}`, ...rest, ...writeOwnLines(value.tail, inner)]
}

function writeValue(prefix: string, item: Item, indent: string, isTop: boolean): readonly string[] {
  const { value, key = '' } = item
  const trailing = writeTrailing(item)
  const inner = `${indent}  `
  if (value.kind === 'scalar') {
    const literal =
      typeof value.data === 'string' && value.data.includes('\n')
        ? writeLiteral(value.data, inner)
        : undefined
    if (literal !== undefined) return [`${prefix} ${literal[0]}${trailing}`, ...literal.slice(1)]
    return [`${prefix} ${writeScalar(value.data, value.source, 'block')}${trailing}`]
  }
  const isSpread = value.items.length > 0 && (isTop ? SECTIONS.has(key) : SPREAD.has(key))
  if (!isSpread && isOnOneLine(value)) {
    const line = `${prefix} ${writeFlow(value)}`
    if (line.length <= WIDTH || value.items.length === 0) return [`${line}${trailing}`]
  }
  const lines = value.kind === 'map' ? writeMap(value, inner, false) : writeList(value, inner, key, isTop)
  return [`${prefix}${trailing}`, ...lines, ...writeOwnLines(value.tail, inner)]
}

function isOnOneLine(value: Value, depth = 0): boolean {
  if (value.kind === 'scalar') return typeof value.data !== 'string' || !value.data.includes('\n')
  return (
    (depth < DEPTH || value.items.length === 0) &&
    value.tail.length === 0 &&
    value.items.every(
      (item) => item.before.length === 0 && item.trailing === undefined && isOnOneLine(item.value, depth + 1),
    )
  )
}

function writeFlow(value: Value): string {
  if (value.kind === 'scalar') return writeScalar(value.data, value.source, 'flow')
  if (value.items.length === 0) return value.kind === 'map' ? '{}' : '[]'
  if (value.kind === 'list') return `[${value.items.map((item) => writeFlow(item.value)).join(', ')}]`
  const pairs = value.items.map(({ key, value: one }) => `${writeScalar(key, '', 'key')}: ${writeFlow(one)}`)
  return `{ ${pairs.join(', ')} }`
}

/** Writes at most one empty line, at the top level and above comments only. */
function writeAbove(
  { before, blankBefore }: Item,
  indent: string,
  rule: { readonly isFirst: boolean; readonly wantsBlank: boolean; readonly keepsBlank: boolean },
): readonly string[] {
  const opens = before[0]?.blankBefore ?? blankBefore
  const isOpened = !rule.isFirst && (rule.wantsBlank || (opens && (rule.keepsBlank || before.length > 0)))
  const isDetached = before.length > 0 && blankBefore && rule.keepsBlank
  return [
    ...(isOpened ? [''] : []),
    ...writeOwnLines(withoutFirstBlank(before), indent),
    ...(isDetached ? [''] : []),
  ]
}

function withoutFirstBlank(comments: readonly OwnLine[]): readonly OwnLine[] {
  return comments.map((one, index) => (index === 0 ? { ...one, blankBefore: false } : one))
}

function writeOwnLines(comments: readonly OwnLine[], indent: string): readonly string[] {
  return comments.flatMap(({ text, blankBefore }) => [...(blankBefore ? [''] : []), `${indent}${text}`])
}

function writeTrailing({ trailing }: Item): string {
  return trailing === undefined ? '' : ` ${trailing}`
}
