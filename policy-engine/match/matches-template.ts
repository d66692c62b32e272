import { parsePathTemplate } from './path-template.ts'

/**
 * Returns whether a canonical path matches a template, independent of other routes.
 * For offline use only: the server matches requests with the route table.
 */
export function matchesTemplate(path: string, template: string): boolean {
  const parsed = parsePathTemplate(template)
  if ('problem' in parsed || !path.startsWith('/')) return false
  const parts = path.slice(1).split('/')
  const { segments, below } = parsed
  const isLongEnough = below ? parts.length >= segments.length : parts.length === segments.length
  return (
    isLongEnough &&
    segments.every((segment, index) =>
      'parameter' in segment ? parts[index] !== '' : parts[index] === segment.literal,
    )
  )
}
