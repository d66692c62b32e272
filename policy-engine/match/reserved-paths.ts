import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { type PathTemplate, parsePathTemplate } from './path-template.ts'

/** Trees that belong to the gateway and its authorization server, `/internal` so that it is never reached from outside. */
const TREES = ['/oauth', '/api/oauth', '/internal', ...Object.values(ENDPOINTS), '/.well-known/scopegate']

/** The deepest of these trees has this many segments (`/api/oauth`, `/.well-known/…`). */
const DEPTH = 2

/** Single documents of the gateway. */
const DOCUMENTS = ['/', '/openapi.json', '/auth.md', '/.well-known/api-catalog']

/**
 * Finds the path of Scopegate's own that a policy's template would take: the same path, or one below a tree of its own.
 * A wider template such as `/**` takes nothing: of two routes that match, the more specific one wins.
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
  // `/**` is wide, `/auth.md/**` begins with the document itself.
  const isLiteral = literals.length === template.segments.length && literals.length > 0
  return isLiteral ? DOCUMENTS.find((one) => prefix === one) : undefined
}

/** Whether a canonical path is Scopegate's own. A route for everything below `/` is not one for that. */
export function isReservedPath(path: string): boolean {
  const segments = path
    .slice(1)
    .split('/')
    .map((literal) => ({ literal }))
  return findReservedPath({ segments, below: false }) !== undefined
}

/** Whether a template with a parameter or `**` among its first segments can meet a path of Scopegate's own. */
export function mayCoverReserved(path: string): boolean {
  const template = parsePathTemplate(path)
  if ('problem' in template) return true
  const literals = template.segments.findIndex((segment) => 'parameter' in segment)
  const depth = literals === -1 ? template.segments.length : literals
  return (template.below || literals !== -1) && depth < DEPTH
}
