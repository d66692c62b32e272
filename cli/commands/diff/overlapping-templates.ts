import type { PathSegment, PathTemplate } from '../../../policy-engine/match/path-template.ts'

/** An index of templates by segments, for finding overlapping templates without comparing all templates. */
type TemplateTree<T> = {
  /** Yields the entries whose templates have a path in common with `template`. */
  overlapping(template: PathTemplate): Generator<T>
}

type Node<T> = {
  readonly literals: Map<string, Node<T>>
  parameter: Node<T> | undefined
  readonly ends: T[]
  /** Entries whose templates end with `**` at this node. */
  readonly below: T[]
}

export function buildTemplateTree<T extends { readonly template: PathTemplate }>(
  all: readonly T[],
): TemplateTree<T> {
  const root = newNode<T>()
  for (const one of all) {
    let node = root
    for (const segment of one.template.segments)
      if ('parameter' in segment) node = node.parameter ??= newNode()
      else {
        const next = node.literals.get(segment.literal) ?? newNode<T>()
        node.literals.set(segment.literal, next)
        node = next
      }
    if (one.template.below) node.below.push(one)
    else node.ends.push(one)
  }
  return { overlapping: (template) => findOverlapping(root, template, 0) }
}

function newNode<T>(): Node<T> {
  return { literals: new Map(), parameter: undefined, ends: [], below: [] }
}

function* findOverlapping<T>(node: Node<T>, template: PathTemplate, at: number): Generator<T> {
  const segment = template.segments[at]
  if (segment === undefined && template.below) {
    yield* allEntries(node)
    return
  }
  yield* node.below
  if (segment === undefined) {
    yield* node.ends
    return
  }
  // A parameter is never empty. An empty literal is a trailing slash.
  if ('parameter' in segment) {
    for (const [literal, next] of node.literals)
      if (literal !== '') yield* findOverlapping(next, template, at + 1)
    if (node.parameter !== undefined) yield* findOverlapping(node.parameter, template, at + 1)
    return
  }
  const next = node.literals.get(segment.literal)
  if (next !== undefined) yield* findOverlapping(next, template, at + 1)
  if (node.parameter !== undefined && segment.literal !== '')
    yield* findOverlapping(node.parameter, template, at + 1)
}

function* allEntries<T>(node: Node<T>): Generator<T> {
  yield* node.below
  yield* node.ends
  for (const next of node.literals.values()) yield* allEntries(next)
  if (node.parameter !== undefined) yield* allEntries(node.parameter)
}

/**
 * Returns the intersection of two templates: the template for all paths that both templates match. Returns undefined
 * without a common path.
 * A parameter has the name from the first template, if this template has a parameter at the same position.
 */
export function intersectTemplates(a: PathTemplate, b: PathTemplate): PathTemplate | undefined {
  const length = Math.max(a.segments.length, b.segments.length)
  if ((a.segments.length < length && !a.below) || (b.segments.length < length && !b.below)) return undefined
  const segments: PathSegment[] = []
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.segments[at], b.segments[at]]
    const common = one === undefined || other === undefined ? (one ?? other) : intersectSegments(one, other)
    if (common === undefined) return undefined
    segments.push(common)
  }
  return { segments, below: a.below && b.below }
}

function intersectSegments(a: PathSegment, b: PathSegment): PathSegment | undefined {
  if ('parameter' in a) return 'literal' in b && b.literal === '' ? undefined : 'literal' in b ? b : a
  if ('parameter' in b) return a.literal === '' ? undefined : a
  return a.literal === b.literal ? a : undefined
}

export function writeTemplate({ segments, below }: PathTemplate): string {
  const written = segments.map((one) => ('parameter' in one ? `/{${one.parameter}}` : `/${one.literal}`))
  const path = `${written.join('')}${below ? '/**' : ''}`
  return path === '' ? '/' : path
}
