import { Document, isMap, isScalar, isSeq, type YAMLMap } from 'yaml'
import { formatPolicy } from '../commands/fmt/format-policy.ts'
import type { PlainMap } from './plain-data.ts'

/**
 * Formats a policy as a file in the layout of `fmt`: one line per key of a route.
 * @param comment the first line of the file, without `#`.
 */
export function writePolicy(policy: PlainMap, comment: string): string {
  const document = new Document(policy)
  const root = document.contents as unknown as YAMLMap
  for (const { key, value } of root.items) {
    const name = isScalar(key) ? key.value : undefined
    if (name === 'routes' && isSeq(value))
      for (const [index, route] of value.items.entries()) {
        if (index > 0) (route as { spaceBefore?: boolean }).spaceBefore = true
        if (isMap(route)) flowBelow(route)
      }
    else if (isMap(value)) flowBelow(value)
  }
  const text = `# ${comment}\n${document.toString({ lineWidth: 0 })}`
  const formatted = formatPolicy(text, 'the policy')
  if ('text' in formatted) return formatted.text
  throw new Error(`the created policy cannot be formatted: ${JSON.stringify(formatted)}`)
}

function flowBelow(map: YAMLMap): void {
  for (const { value } of map.items) if (isMap(value) || isSeq(value)) value.flow = true
}
