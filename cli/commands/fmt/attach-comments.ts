import type { Comment } from './find-comments.ts'
import type { Collection, Item, OwnLine } from './layout-tree.ts'

type Placed = { readonly item: Item; readonly within: Collection }

/**
 * Attaches each comment to an entry. A trailing comment belongs to the entry on its line. A comment on its own line
 * belongs to the entry below it. If it is indented deeper than that entry, it belongs to the end of the collection
 * above.
 * @returns the comments at the head of the file.
 */
export function attachComments(
  root: Collection,
  comments: readonly Comment[],
  text: string,
): { readonly head: readonly OwnLine[] } {
  const placed = inOrder(root)
  const lineOf = lineFinder(text)
  // Comments above the first key belong to the file, even if sorting moves that key.
  const first = root.items[0]?.start ?? 0
  const isHead = (comment: Comment): boolean => comment.start < first
  for (const comment of comments.filter((one) => !isHead(one)))
    if (comment.isOwnLine) attachOwnLine(root, placed, comment)
    else attachTrailing(placed, comment, lineOf)
  return { head: comments.filter(isHead) }
}

function attachOwnLine(root: Collection, placed: readonly Placed[], comment: Comment): void {
  const line: OwnLine = { text: comment.text, blankBefore: comment.blankBefore }
  const bracket = innermostBracket(placed, comment.start)
  if (bracket !== undefined) {
    const next = bracket.within.items.find((item) => item.start > comment.start)
    if (next !== undefined) next.before.push(line)
    else if (bracket.within.items.length > 0) bracket.within.tail.push(line)
    else bracket.owner.before.push(line)
    return
  }
  const next = placed.find(({ item }) => item.start > comment.start)
  if (next !== undefined && comment.column <= next.item.column) {
    next.item.before.push(line)
    return
  }
  const above = placed.findLast(
    ({ item, within }) => item.start < comment.start && item.column <= comment.column && !within.flow,
  )
  ;(above?.within ?? root).tail.push(line)
}

function attachTrailing(
  placed: readonly Placed[],
  comment: Comment,
  lineOf: (offset: number) => number,
): void {
  const line = lineOf(comment.start)
  const ended = placed.find(({ item }) => {
    const { value } = item
    const isBlock = value.kind !== 'scalar' && !value.flow
    if (isBlock || item.end > comment.start) return false
    if (value.kind !== 'scalar') return lineOf(Math.max(item.start, item.end - 1)) === line
    return lineOf(item.start) === line || lineOf(Math.max(item.start, item.end - 1)) === line
  })
  const started = placed.findLast(({ item }) => item.start < comment.start)
  const item = (ended ?? started)?.item
  if (item === undefined) return
  const hasKeyLine = item.key !== undefined || item.value.kind === 'scalar' || item.value.flow
  if (item.trailing === undefined && hasKeyLine) item.trailing = comment.text
  else item.before.push({ text: comment.text, blankBefore: false })
}

/** Returns the innermost flow collection around an offset, and the entry that has it as its value. */
function innermostBracket(
  placed: readonly Placed[],
  offset: number,
): { readonly within: Collection; readonly owner: Item } | undefined {
  const around = placed.findLast(({ item: { value } }) =>
    value.kind === 'scalar' ? false : value.flow && value.start < offset && offset < value.end,
  )
  if (around === undefined || around.item.value.kind === 'scalar') return undefined
  return { within: around.item.value, owner: around.item }
}

function inOrder(within: Collection): readonly Placed[] {
  return within.items.flatMap((item) => [
    { item, within },
    ...(item.value.kind === 'scalar' ? [] : inOrder(item.value)),
  ])
}

function lineFinder(text: string): (offset: number) => number {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
  return (offset) => starts.findLastIndex((start) => start <= offset)
}
