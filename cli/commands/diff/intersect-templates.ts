import type { PathSegment, PathTemplate } from '../../../policy-engine/match/path-template.ts'

/**
 * The template that matches exactly the paths which both match; undefined when there are none. Parameters are named as in
 * the first one, where it has any.
 */
export function intersectTemplates(a: PathTemplate, b: PathTemplate): PathTemplate | undefined {
  const length = Math.max(a.segments.length, b.segments.length)
  if ((a.segments.length < length && !a.below) || (b.segments.length < length && !b.below)) return undefined
  const segments: PathSegment[] = []
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.segments[at], b.segments[at]]
    const met = one === undefined || other === undefined ? (one ?? other) : meetSegments(one, other)
    if (met === undefined) return undefined
    segments.push(met)
  }
  return { segments, below: a.below && b.below }
}

function meetSegments(a: PathSegment, b: PathSegment): PathSegment | undefined {
  if ('parameter' in a) return 'literal' in b && b.literal === '' ? undefined : 'literal' in b ? b : a
  if ('parameter' in b) return a.literal === '' ? undefined : a
  return a.literal === b.literal ? a : undefined
}

/** A template as text. */
export function writeTemplate({ segments, below }: PathTemplate): string {
  const written = segments.map((one) => ('parameter' in one ? `/{${one.parameter}}` : `/${one.literal}`))
  const path = `${written.join('')}${below ? '/**' : ''}`
  return path === '' ? '/' : path
}
