import { parsePathTemplate } from './path-template.ts'

/**
 * Whether a canonical path is one of a template, other routes left aside. Offline only: requests meet routes through the
 * table.
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
