import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type PathTemplate, parsePathTemplate } from './path-template.ts'

/** Trees of the gateway and its authorization server. `/internal` is reserved so that clients cannot reach it. */
const TREES = ['/oauth', '/api/oauth', '/internal', ...Object.values(ENDPOINTS), '/.well-known/scopegate']

/** Number of segments of the deepest tree (`/api/oauth`, `/.well-known/…`). */
const DEPTH = 2

const DOCUMENTS = ['/', '/openapi.json', '/auth.md', '/.well-known/api-catalog']

/**
 * Finds the reserved path that a template of a policy would take over: the same path, or a path below a reserved tree.
 * A wider template such as `/**` takes over nothing, because the more specific route wins.
 * @returns the reserved path, e.g. `/oauth/**`, or undefined.
 */
export function findReservedPath(template: PathTemplate): string | undefined {
  const literals: string[] = []
  for (const one of template.segments) {
    if ('parameter' in one) break
    literals.push(one.literal)
  }
  const prefix = `/${literals.join('/')}`
  const tree = TREES.find((one) => prefix === one || prefix.startsWith(`${one}/`))
  if (tree !== undefined) return `${tree}/**`
  // `/**` is a wide template. `/auth.md/**` starts with the document itself.
  const isLiteral = literals.length === template.segments.length && literals.length > 0
  return isLiteral ? DOCUMENTS.find((one) => prefix === one) : undefined
}

/** Returns whether a canonical path is reserved by Scopegate. A route for all paths does not serve it. */
export function isReservedPath(path: string): boolean {
  const segments = path
    .slice(1)
    .split('/')
    .map((literal) => ({ literal }))
  return findReservedPath({ segments, below: false }) !== undefined
}

/** Returns whether a template can match a reserved path, because of a parameter or `**` in its first segments. */
export function mayCoverReserved(path: string): boolean {
  const template = parsePathTemplate(path)
  if ('problem' in template) return true
  const literals = template.segments.findIndex((segment) => 'parameter' in segment)
  const depth = literals === -1 ? template.segments.length : literals
  return (template.below || literals !== -1) && depth < DEPTH
}
