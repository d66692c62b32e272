/** A word, a string literal, an operator, or a bracketed group of TypeScript source. */
export type SourceNode =
  | { readonly kind: 'word' | 'text' | 'sign'; readonly text: string }
  | { readonly kind: 'group'; readonly text: '(' | '[' | '{'; readonly children: readonly SourceNode[] }

const TOKEN =
  /\s+|\/\/.*|\/\*[\s\S]*?\*\/|(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?<word>[\w$#@]+)|(?<sign>\.\.\.|=>|\?\?=?|\|\|=?|&&=?|\?\.|[\s\S])/y
/** After these tokens, `/` begins a regular expression. */
const BEFORE_REGEXP = /^(?:[(,=:[!&|?{};]|=>|return|\?\?|\|\||&&)$/
const REGEXP = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y

/**
 * Splits TypeScript source into nested groups. Ignores comments, and the content of templates and regular expressions.
 * The scripts use this function instead of a parser, because TypeScript 7 has no parser API for programs.
 */
export function parseSource(source: string): readonly SourceNode[] {
  const root: SourceNode[] = []
  const open: SourceNode[][] = [root]
  let last = ''
  let at = 0
  while (at < source.length) {
    const nodes = open.at(-1) ?? root
    const skipped = skipOpaque(source, at, last)
    if (skipped !== undefined) {
      nodes.push({ kind: 'sign', text: '`' })
      last = '`'
      at = skipped
      continue
    }
    TOKEN.lastIndex = at
    const [whole = ' ', ...parts] = TOKEN.exec(source) ?? []
    at += whole.length
    if (parts.every((part) => part === undefined)) continue
    last = whole
    if (whole === '(' || whole === '[' || whole === '{') {
      const children: SourceNode[] = []
      nodes.push({ kind: 'group', text: whole, children })
      open.push(children)
    } else if (whole === ')' || whole === ']' || whole === '}') open.pop()
    else if (/^['"]/.test(whole)) nodes.push({ kind: 'text', text: whole.slice(1, -1) })
    else nodes.push({ kind: /^[\w$#@]/.test(whole) ? 'word' : 'sign', text: whole })
  }
  return root
}

/**
 * Returns the end of the template or regular expression that begins at `at`. Returns undefined for other source text.
 */
function skipOpaque(source: string, at: number, last: string): number | undefined {
  if (source[at] === '`') return endOfTemplate(source, at)
  if (source[at] !== '/' || /[/*]/.test(source[at + 1] ?? '')) return undefined
  if (last !== '' && !BEFORE_REGEXP.test(last)) return undefined
  REGEXP.lastIndex = at
  return REGEXP.test(source) ? REGEXP.lastIndex : undefined
}

function endOfTemplate(source: string, begin: number): number {
  let at = begin + 1
  while (at < source.length && source[at] !== '`') {
    if (source[at] === '\\') at += 2
    else if (source.startsWith('${', at)) at = endOfInsertion(source, at + 2)
    else at += 1
  }
  return at + 1
}

function endOfInsertion(source: string, begin: number): number {
  let depth = 1
  let at = begin
  while (at < source.length && depth > 0) {
    if (source[at] === '`') {
      at = endOfTemplate(source, at)
      continue
    }
    if (source[at] === '{') depth += 1
    if (source[at] === '}') depth -= 1
    at += 1
  }
  return at
}

/** Returns the children of every group with braces, at any depth. */
export function allBraces(nodes: readonly SourceNode[]): readonly (readonly SourceNode[])[] {
  return nodes.flatMap((node) => {
    if (node.kind !== 'group') return []
    return [...(node.text === '{' ? [node.children] : []), ...allBraces(node.children)]
  })
}

/** After these tokens, `{` begins an object, not a block. */
const BEFORE_OBJECT = new Set(['return', '=', '(', ',', ':', '?', '[', '??', '||', '&&', '...'])

/**
 * Returns the outermost object literals of an expression or a function body. Omits parameters, destructuring patterns
 * and type literals.
 */
export function objectsIn(nodes: readonly SourceNode[], opener = ''): readonly (readonly SourceNode[])[] {
  return nodes.flatMap((node, index) => {
    if (node.kind !== 'group') return []
    const previous = nodes[index - 1]
    const before = previous?.kind === 'group' ? 'group' : (previous?.text ?? opener)
    const after = nodes[index + 1]?.text ?? ''
    const isPattern = after === '=>' || before === 'function' || nodes[index - 2]?.text === 'function'
    if (isPattern || (node.text === '{' && (after === '=' || isTypeLiteral(node.children)))) return []
    if (node.text === '{' && BEFORE_OBJECT.has(before)) return [node.children]
    return objectsIn(node.children, node.text)
  })
}

function isTypeLiteral(children: readonly SourceNode[]): boolean {
  return children[0]?.text === 'readonly'
}

/**
 * Returns the keys of an object literal or object type. A key of a nested object has the outer key as a prefix:
 * `location.line`. Keys of a spread object literal count as keys of the object around it. `resolve` returns the keys of
 * any other spread value.
 */
export function keysOf(
  children: readonly SourceNode[],
  resolve: (name: string) => readonly string[] = () => [],
): readonly string[] {
  const keys = membersOf(children).flatMap((member) => {
    const [first, ...rest] = member[0]?.text === 'readonly' ? member.slice(1) : member
    if (first === undefined || first.kind === 'group') return []
    const nested = objectsIn(rest).flatMap((one) => keysOf(one, resolve))
    if (first.text === '...') {
      const [spread] = rest
      return nested.length === 0 && spread?.kind === 'word' ? resolve(spread.text) : nested
    }
    if (first.kind === 'sign') return []
    return [first.text, ...nested.map((key) => `${first.text}.${key}`)]
  })
  return [...new Set(keys)]
}

/**
 * Splits the content of an object literal or object type into its members. Each member of a type begins with
 * `readonly`.
 */
function membersOf(children: readonly SourceNode[]): readonly (readonly SourceNode[])[] {
  const isType = isTypeLiteral(children)
  const members: SourceNode[][] = [[]]
  for (const [index, node] of children.entries()) {
    if (isType && node.text === 'readonly' && /^[:?]$/.test(children[index + 2]?.text ?? '')) members.push([])
    if (isType || node.kind !== 'sign' || node.text !== ',') members.at(-1)?.push(node)
    else members.push([])
  }
  return members
}

/**
 * Returns the nodes of the declaration `type NAME =`, `const NAME =` or `function NAME`, up to the next declaration.
 * @throws {Error} if the source has no such declaration.
 */
export function declarationOf(nodes: readonly SourceNode[], name: string): readonly SourceNode[] {
  const found = findDeclaration(nodes, name)
  if (found === undefined)
    throw new Error(`declaration of ${name} is missing: name the current one in scripts/stable-names.ts`)
  return found
}

const DECLARES = new Set(['type', 'const', 'function', 'export', 'let', 'class', 'import', 'async'])

/** Returns undefined if the source has no such declaration. */
export function findDeclaration(
  nodes: readonly SourceNode[],
  name: string,
): readonly SourceNode[] | undefined {
  const at = nodes.findIndex(
    (node, index) => node.text === name && DECLARES.has(nodes[index - 1]?.text ?? ''),
  )
  if (at !== -1) {
    const end = nodes.findIndex(
      (node, index) => index > at && node.kind === 'word' && DECLARES.has(node.text),
    )
    return nodes.slice(at - 1, end === -1 ? undefined : end)
  }
  for (const node of nodes) {
    const inside = node.kind === 'group' ? findDeclaration(node.children, name) : undefined
    if (inside !== undefined) return inside
  }
  return undefined
}
