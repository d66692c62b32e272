import {
  Document,
  isCollection,
  isMap,
  isPair,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'

type Entry = Node | Pair<Scalar, Node>
type Collection = YAMLMap<Scalar, Node> | YAMLSeq<Node>
type Comment = string | null | undefined
type Schema = { readonly [keyword: string]: unknown }

/** `fmt` writes a collection up to this width and nesting depth on one line. */
const WIDTH = 110
const DEPTH = 2
const INDENT = 2

/** Top-level keys with an empty line above them, and with each entry on its own line. */
const SECTIONS: ReadonlySet<string> = new Set(['defaults', 'routes', 'tests'])

/**
 * Texts of one line that need no quotes. Other texts of one line get double quotes, so that readers need not know the
 * rules of YAML.
 */
const PLAIN = /^[\w/.$()+~^;][^\p{C}\p{Zl}\p{Zp}"'{}[\]#&*!|>%@`\\]*\*{0,2}$/u
/** Characters that only a text in quotes can contain. */
const INVISIBLE = /[^\P{C}\n]|\p{Zl}|\p{Zp}/u

const SYNTAX = { version: '1.2', schema: 'core', logLevel: 'silent' } as const
const STYLE = {
  lineWidth: 0,
  indent: INDENT,
  singleQuote: false,
  doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
} as const

export function applyLayout(text: string, schema: Schema): string {
  const document = parseDocument(text, SYNTAX)
  const root = document.contents as unknown as YAMLMap<Scalar, Node>
  visit(document, { Scalar: (_, scalar) => chooseQuotes(scalar) })
  // Comments above the first key belong to the file, even if sorting moves that key.
  const head = takeComment(root.items[0]?.key)
  settleComments(root, text)
  sortKeys(root, schema)
  prependComment(root.items[0]?.key, head)
  document.comment = trimComment(joinComments(root.comment, document.comment), false)
  root.comment = null
  chooseLayout(root, { key: '', level: 0, indent: 0, column: 0, isSpread: true })
  return write(document)
}

function chooseQuotes(scalar: Scalar): void {
  const { value } = scalar
  if (typeof value !== 'string') return
  const isLiteral = value.includes('\n') && !INVISIBLE.test(value)
  scalar.type = isLiteral ? 'BLOCK_LITERAL' : PLAIN.test(value) ? 'PLAIN' : 'QUOTE_DOUBLE'
}

/** A line of a comment, or an empty line between comments. */
type Line = { readonly text: string; readonly column: number }

/**
 * Attaches a comment between a key and its value to the key, or to the first entry of a block collection. Splits the
 * comments below a block collection by their indentation, which the library ignores.
 * @returns the comments below the collection that belong to an outer collection.
 */
function settleComments(collection: Collection, text: string): readonly Line[] {
  let below: readonly Line[] = []
  for (const entry of collection.items as Entry[]) {
    const owner = isPair<Scalar, Node>(entry) ? entry.key : entry
    const value = entryValue(entry)
    if (below[0]?.text === '') owner.spaceBefore = true
    prependComment(owner, joinLines(below))
    if (owner !== value) settleBetween(owner, value, text)
    below = isCollection(value) ? settleComments(value as Collection, text) : []
  }
  if (collection.flow) return []
  const lines = below.length > 0 ? below : linesBelow(collection, text)
  const dedent = lines.findIndex(({ column }) => column < columnOf(firstEntry(collection), collection, text))
  const end = dedent > 0 && lines[dedent - 1]?.text === '' ? dedent - 1 : dedent
  collection.comment = joinLines(end === -1 ? lines : lines.slice(0, end))
  return end === -1 ? [] : lines.slice(end)
}

function settleBetween(key: Node, value: Node | null | undefined, text: string): void {
  const comment = takeComment(value)
  if (!isCollection(value) || value.flow === true) {
    prependComment(key, comment)
    return
  }
  const onLine = /^[ \t]*:[ \t]+#([^\n]*)/.exec(text.slice(key.range?.[1]))?.[1]
  if (onLine !== undefined) key.comment = onLine
  prependComment(firstEntry(value as Collection), comment?.slice(onLine?.length ?? 0).replace(/^\n+/, ''))
}

function linesBelow({ comment, range }: Collection, text: string): readonly Line[] {
  if (comment == null) return []
  const columns = [...text.slice(range?.[1], range?.[2]).matchAll(/^( *)#/gm)].map(
    ([, indent = '']) => indent.length,
  )
  return comment
    .split('\n')
    .map((line) => ({ text: line, column: line === '' ? Number.POSITIVE_INFINITY : (columns.shift() ?? 0) }))
}

function joinLines(lines: readonly Line[]): string | null {
  return lines.length === 0 ? null : lines.map((line) => line.text).join('\n')
}

/** Returns the column of a map's first key or of a list's first dash. */
function columnOf(first: Node | undefined, collection: Collection, text: string): number {
  const start = (isMap(collection) ? first : collection)?.range?.[0] ?? 0
  return start - (text.lastIndexOf('\n', start - 1) + 1)
}

/** Sorts the entries of every map into the key order of the schema. Unlisted keys come last. */
function sortKeys(collection: Collection, schema: Schema | undefined): void {
  const properties = isMap(collection) ? propertiesOf(schema) : {}
  const order = Object.keys(properties)
  const rank = ({ key }: Pair<Scalar, Node>): number => {
    const at = order.indexOf(String(key.value))
    return at === -1 ? order.length : at
  }
  if (isMap<Scalar, Node>(collection)) collection.items.sort((a, b) => rank(a) - rank(b))
  for (const entry of collection.items as Entry[]) {
    const value = entryValue(entry)
    const inner = isPair<Scalar>(entry) ? properties[String(entry.key.value)] : schema?.['items']
    if (!isCollection(value)) continue
    sortKeys(value as Collection, inner as Schema | undefined)
    if (entry === value) hoistComment(value as Collection)
  }
}

/** Returns the properties of a schema and of all its alternatives. */
function propertiesOf(schema: Schema | undefined): Readonly<Record<string, Schema>> {
  const choices = (schema?.['anyOf'] ?? schema?.['oneOf'] ?? []) as readonly Schema[]
  return {
    ...((schema?.['properties'] as Record<string, Schema> | undefined) ?? {}),
    ...Object.assign({}, ...choices.map(propertiesOf)),
  }
}

type LayoutContext = {
  /** The key of the collection. Empty in a list. */
  readonly key: string
  /** 0: the file. 1: the values of its top-level keys. */
  readonly level: number
  readonly indent: number
  /** Column of the collection when it is on one line. */
  readonly column: number
  /** Starts each entry on its own line. */
  readonly isSpread: boolean
}

/** Writes a collection on one line if the collection fits on the line, and sets the empty lines. */
function chooseLayout(collection: Collection, { key, level, indent, column, isSpread }: LayoutContext): void {
  const isFlow = collection.items.length === 0 || (!isSpread && isShort(collection))
  if (isFlow) visit(collection, { Node: clearSpace })
  collection.flow = isFlow && column + writeOnOneLine(collection).length <= WIDTH
  if (!collection.flow) collection.comment = trimComment(collection.comment, false)
  const keepsBlank = level === 0 || (level === 1 && isSeq(collection))
  let wasSection = false
  for (const [index, entry] of (collection.items as Entry[]).entries()) {
    const owner = isPair<Scalar, Node>(entry) ? entry.key : entry
    const value = entryValue(entry)
    const name = isPair(entry) ? String((owner as Scalar).value) : ''
    const wasFlow = isCollection(value) && value.flow === true
    if (isCollection(value) && !collection.flow)
      chooseLayout(value as Collection, {
        key: name,
        level: level + 1,
        indent: indent + INDENT,
        column: indent + (isPair(entry) ? writeOnOneLine(owner).length + 2 : INDENT),
        isSpread:
          level === 0
            ? SECTIONS.has(name)
            : name === 'when' || (level === 1 && SECTIONS.has(key) && isNested(value as Collection)),
      })
    if (isCollection(value) && !collection.flow) {
      moveTrailing(owner, value as Collection, wasFlow)
      if (owner === value) hoistComment(value as Collection)
    }
    const isSection = level === 0 && SECTIONS.has(name)
    const wantsBlank = isSection || wasSection || (level === 1 && key === 'routes')
    wasSection = isSection
    const above = trimComment(owner.commentBefore, keepsBlank)
    owner.commentBefore = above
    owner.spaceBefore =
      index > 0 &&
      !collection.flow &&
      (wantsBlank || (owner.spaceBefore === true && (keepsBlank || above !== null)))
    if (isPair(entry) && value != null) value.spaceBefore = false
  }
}

function clearSpace(_: unknown, node: Node): void {
  node.spaceBefore = false
}

/** Moves the comment behind a key or bracket when the line of the key or bracket changes. */
function moveTrailing(owner: Node, value: Collection, wasFlow: boolean): void {
  const isFlow = value.flow === true
  const from = wasFlow ? value : owner
  const { comment } = from
  const isLong = comment?.includes('\n') === true
  if ((isFlow === wasFlow && !(isFlow && isLong)) || comment == null) return
  from.comment = null
  if (owner === value || isLong) prependComment(owner, comment)
  else (isFlow ? value : owner).comment = comment
}

/**
 * Moves a comment from the first entry of a collection to the collection. The collection is a list item, so its first
 * entry is on the line of the dash.
 */
function hoistComment(value: Collection): void {
  value.commentBefore = joinComments(value.commentBefore, takeComment(firstEntry(value)))
}

function isNested(collection: Collection): boolean {
  return (collection.items as Entry[]).some((entry) => isCollection(entryValue(entry)))
}

/** Returns true when a collection has no comments inside, no text with several lines and no deep nesting. */
function isShort(collection: Collection, depth = 1): boolean {
  if (collection.flow !== true && collection.comment != null) return false
  return (collection.items as Entry[]).every((entry) => {
    const value = entryValue(entry)
    const owner = isPair<Scalar, Node>(entry) ? entry.key : entry
    if ([owner, value].some((one) => (one?.commentBefore ?? one?.comment ?? undefined) !== undefined))
      return false
    if (!isCollection(value)) return !String((value as Scalar | null)?.value).includes('\n')
    return value.items.length === 0 || (depth < DEPTH && isShort(value as Collection, depth + 1))
  })
}

/** Returns the node that has the comment above the first entry. */
function firstEntry({ items }: Collection): Node | undefined {
  const [first] = items as Entry[]
  return isPair<Scalar, Node>(first) ? first.key : first
}

function entryValue(entry: Entry): Node | null | undefined {
  return isPair<Scalar, Node>(entry) ? entry.value : entry
}

function takeComment(node: Node | null | undefined): Comment {
  const comment = node?.commentBefore
  if (node != null) node.commentBefore = null
  return comment
}

function prependComment(node: Node | null | undefined, comment: Comment): void {
  if (node != null) node.commentBefore = joinComments(comment, node.commentBefore)
}

function joinComments(...comments: readonly Comment[]): string | null {
  const all = comments.filter((one) => one != null && one !== '')
  return all.length === 0 ? null : all.join('\n')
}

/** Leaves at most one empty line between comments. With `keepsBlank`, also leaves one empty line below the comments. */
function trimComment(comment: Comment, keepsBlank: boolean): string | null {
  const trimmed = comment
    ?.replace(/^\n+/, '')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/\n+$/, keepsBlank ? '\n' : '')
  return trimmed === undefined || trimmed === '' ? null : trimmed
}

function writeOnOneLine(node: Node): string {
  const copy = node.clone() as Collection
  return write(
    new Document(Object.assign(copy, { flow: true, comment: undefined, commentBefore: undefined })),
  ).trim()
}

/** Writes lists without spaces inside their brackets, and writes invisible characters as escapes. */
function write(document: Document<Node> | Document.Parsed): string {
  const tokens = [...new Lexer().lex(document.toString(STYLE))]
  return tokens
    .map((token, index) => {
      if (MARKS.has(token)) return ''
      if (token === ' ' && (tokens[index - 1] === '[' || tokens[index + 1] === ']')) return ''
      return token.startsWith('"') && !MARKS.has(tokens[index - 1] ?? '')
        ? token.replace(UNSAFE, escapeCharacter)
        : token
    })
    .join('')
}

/** Tokens that the lexer adds, and that represent no character of the text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f'])
/** Invisible characters that JSON does not escape. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\ufeff]/g

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
