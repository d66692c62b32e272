import type { PathSegment, PathTemplate } from '../../../policy-engine/match/path-template.ts'

/**
 * Returns the template that matches exactly the paths that both templates match, or undefined without a common path.
 * Parameter names come from the first template if it has them.
 */
export function intersectTemplates(a: PathTemplate, b: PathTemplate): PathTemplate | undefined {
  const length = Math.max(a.segments.length, b.segments.length)
  if ((a.segments.length < length && !a.below) || (b.segments.length < length && !b.below)) return undefined
  const segments: PathSegment[] = []
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.segments[at], b.segments[at]]
    const met = one === undefined || other === undefined ? (one ?? other) : intersectSegments(one, other)
    if (met === undefined) return undefined
    segments.push(met)
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
