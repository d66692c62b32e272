import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-places.ts'
import { type PathTemplate, parsePathTemplate } from '../match/path-template.ts'

/** Finds invalid rewrites. Codes: P108 malformed path, P203 parameter that the path of the route does not have. */
export function checkRewrites(document: YamlDocument): readonly Diagnostic[] {
  const { routes } = (document.value ?? {}) as { routes?: unknown }
  if (!Array.isArray(routes)) return []
  return routes.flatMap((route: unknown, index) => {
    const { match, rewrite } = (route ?? {}) as {
      match?: { path?: unknown } | null
      rewrite?: { path?: unknown } | null
    }
    const path = rewrite?.path
    if (typeof path !== 'string' || path === '') return []
    const at: YamlPath = ['routes', index, 'rewrite', 'path']
    const template = parsePathTemplate(path)
    if ('problem' in template)
      return [diagnostic('P108', template.problem, document.placeOf(at), { hint: template.hint })]
    const own = typeof match?.path === 'string' ? parsePathTemplate(match.path) : { problem: 'no path' }
    // Another check reports an invalid `match.path`.
    if ('problem' in own) return []
    return unknownParts(template, own).map(({ message, hint }) =>
      diagnostic('P203', message, document.placeOf(at), { hint }),
    )
  })
}

function unknownParts(
  rewrite: PathTemplate,
  route: PathTemplate,
): readonly { message: string; hint: string }[] {
  const known = parametersOf(route)
  const problems = parametersOf(rewrite)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const near = suggest(name, known)
      const all =
        known.length === 0
          ? 'its path has no parameters'
          : `it has ${known.map((one) => `{${one}}`).join(', ')}`
      return {
        message: `the route has no parameter {${name}}`,
        hint: near === undefined ? all : `did you mean {${near}}?`,
      }
    })
  if (rewrite.below && !route.below)
    problems.push({
      message: 'the path of the route does not end in **, so the rewrite cannot use **',
      hint: 'remove /** here, or add it to match.path',
    })
  return problems
}

function parametersOf(template: PathTemplate): readonly string[] {
  return template.segments.flatMap((one) => ('parameter' in one ? [one.parameter] : []))
}
