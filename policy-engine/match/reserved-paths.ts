import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type PathTemplate, parsePathTemplate } from './path-template.ts'

/**
 * Path trees of the gateway and its authorization server. Clients must not reach `/internal`, so this tree is reserved
 * too.
 */
const TREES = ['/oauth', '/api/oauth', '/internal', ...Object.values(ENDPOINTS), '/.well-known/scopegate']

/** Number of segments of the deepest tree that is not inside another tree (`/api/oauth`, `/.well-known/…`). */
const DEPTH = 2

const DOCUMENTS = ['/', '/openapi.json', '/auth.md', '/.well-known/api-catalog']

/**
 * Finds the reserved path that a template of a policy would replace: the same path, or a path below a reserved tree.
 * A wider template such as `/**` replaces no reserved path, because the more specific route wins.
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
  // The template `/**` is wider than `/`, so this template does not replace `/`. The template `/auth.md/**` also
  // matches `/auth.md`.
  const isLiteral = literals.length === template.segments.length && literals.length > 0
  return isLiteral ? DOCUMENTS.find((one) => prefix === one) : undefined
}

/**
 * Returns whether a canonical path is reserved by Scopegate. A policy route for all paths does not serve a reserved
 * path.
 */
export function isReservedPath(path: string): boolean {
  const segments = path
    .slice(1)
    .split('/')
    .map((literal) => ({ literal }))
  return findReservedPath({ segments, below: false }) !== undefined
}

/** Returns whether a canonical path is a reserved document, which the gateway always serves. */
export function isReservedDocument(path: string): boolean {
  return DOCUMENTS.includes(path)
}

/** Returns whether a template can match a reserved path, because of a parameter or `**` in its first segments. */
export function mayCoverReserved(path: string): boolean {
  const template = parsePathTemplate(path)
  if ('problem' in template) return true
  const literals = template.segments.findIndex((segment) => 'parameter' in segment)
  const depth = literals === -1 ? template.segments.length : literals
  return (template.below || literals !== -1) && depth < DEPTH
}
