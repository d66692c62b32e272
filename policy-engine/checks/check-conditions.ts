import { type Diagnostic, diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { toRecord } from '../../platform/diagnostics/record.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { type RawRoute, rawRoutes } from '../load/raw-routes.ts'
import { readOperand } from '../load/read-operand.ts'
import { parsePathTemplate } from '../match/path-template.ts'
import { explainUnusable } from './check-header-matches.ts'

/**
 * Finds invalid operands of conditions.
 * Codes: P110 text in braces that is not a request value, or a request value in `matches`; P203 parameter that the path
 * of the route does not have; P312 header that policies cannot read.
 */
export function checkConditions(document: YamlDocument): readonly Diagnostic[] {
  return rawRoutes(document).flatMap((raw) =>
    operandsOf(raw).flatMap(({ written, at }) => {
      const location = () => document.locationOf(at)
      const operand = readOperand(written)
      if (typeof operand !== 'object') return []
      if ('problem' in operand)
        return [diagnostic('P110', operand.problem, location(), { hint: operand.hint })]
      if (at.at(-1) === 'matches')
        return [
          diagnostic('P110', '"matches" requires a text with *, not a request value', location(), {
            hint: `write equals: ${JSON.stringify(written)}`,
          }),
        ]
      if (operand.from === 'header') {
        const unusable = explainUnusable(operand.name)
        return unusable === undefined ? [] : [diagnostic('P312', unusable, location())]
      }
      const hint = operand.from === 'path' ? explainParameter(operand.name, raw) : undefined
      return hint === undefined
        ? []
        : [diagnostic('P203', `the route has no parameter {${operand.name}}`, location(), { hint })]
    }),
  )
}

/**
 * Returns the unchecked conditions of a route. Replaces each entry that is not a map with an empty map, so that the
 * positions of the other entries stay the same.
 */
export function rawConditions({ route }: RawRoute): readonly Readonly<Record<string, unknown>>[] {
  const { when } = route
  if (!Array.isArray(when)) return []
  return when.map(toRecord)
}

function operandsOf(raw: RawRoute): readonly { written: string; at: YamlPath }[] {
  return rawConditions(raw).flatMap((condition, position) => {
    const at: YamlPath = ['routes', raw.index, 'when', position]
    const listed = Array.isArray(condition['in']) ? condition['in'] : []
    const all = [
      { written: condition['equals'] as unknown, at: [...at, 'equals'] },
      { written: condition['matches'] as unknown, at: [...at, 'matches'] },
      ...listed.map((written: unknown, index) => ({ written, at: [...at, 'in', index] })),
    ]
    return all.flatMap(({ written, at }) => (typeof written === 'string' ? [{ written, at }] : []))
  })
}

/** Returns a hint for an unknown parameter. Returns undefined if the path has the parameter or is invalid. */
function explainParameter(name: string, { route }: RawRoute): string | undefined {
  const { path } = (route['match'] ?? {}) as { path?: unknown }
  const template = typeof path === 'string' ? parsePathTemplate(path) : { problem: 'no path' }
  if ('problem' in template) return undefined
  const known = template.segments.flatMap((one) => ('parameter' in one ? [one.parameter] : []))
  if (known.includes(name)) return undefined
  const near = suggest(name, known)
  if (near !== undefined) return `did you mean {path.${near}}?`
  return known.length === 0
    ? 'its path has no parameters'
    : `it has ${known.map((one) => `{path.${one}}`).join(', ')}`
}
