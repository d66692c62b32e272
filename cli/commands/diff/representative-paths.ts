import type { PathTemplate } from '../../../policy-engine/match/path-template.ts'

/** Returns text for a segment that differs from all literals of all templates. */
export type Fresh = (segment: number) => string

/**
 * Creates segments that these templates do not contain. They consist of plain letters, so that a path stays canonical.
 */
export function freshSegments(templates: readonly PathTemplate[]): Fresh {
  const literals = new Set<string>()
  for (const { segments } of templates)
    for (const one of segments) if ('literal' in one) literals.add(one.literal)
  let stem = 'any'
  while ([...literals].some((literal) => literal.startsWith(stem))) stem += 'y'
  return (segment) => `${stem}${segment}`
}

/**
 * Returns paths that represent all paths of a template, for comparison with templates of at most `depth` segments. A
 * parameter becomes a text that no template contains. `**` becomes no segments, some segments, or some segments with a
 * trailing slash.
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
