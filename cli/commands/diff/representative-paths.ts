import type { PathTemplate } from '../../../policy-engine/match/path-template.ts'

/** Text for a segment that no literal of any template is. */
export type Fresh = (segment: number) => string

/** Makes up segments that none of these templates spells out. They are plain letters, so that a path stays canonical. */
export function freshSegments(templates: readonly PathTemplate[]): Fresh {
  const literals = new Set<string>()
  for (const { segments } of templates)
    for (const one of segments) if ('literal' in one) literals.add(one.literal)
  let stem = 'any'
  while ([...literals].some((literal) => literal.startsWith(stem))) stem += 'y'
  return (segment) => `${stem}${segment}`
}

/**
 * Paths that stand for all that a template matches, as far as templates of at most `depth` segments can tell them apart:
 * parameters are something that no template spells out, and `**` is nothing, something, or something and a slash.
 */
export function representativePaths(template: PathTemplate, fresh: Fresh, depth: number): readonly string[] {
  const segments = template.segments.map((one, index) => ('parameter' in one ? fresh(index) : one.literal))
  const base = `/${segments.join('/')}`
  if (!template.below) return [base]
  const paths = [base]
  let longer = segments.length === 0 ? '' : base
  for (let length = segments.length; length <= depth; length++) {
    paths.push(`${longer}/`)
    longer += `/${fresh(length)}`
    paths.push(longer)
  }
  return paths
}
