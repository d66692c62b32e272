import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMap, isNode, isScalar, parseDocument } from 'yaml'
import { findPackageRoot } from '../platform/process/package-root.ts'

/** Returns a Markdown table of all values of the chart. The text of a row is the comment `# --` in helm/values.yaml. */
export function chartReference(): string {
  const { contents } = parseDocument(readFileSync(join(findPackageRoot(), 'helm', 'values.yaml'), 'utf8'))
  return ['| value | default | description |', '| --- | --- | --- |', ...rowsOf(contents, [])].join('\n')
}

function rowsOf(map: unknown, path: readonly string[]): readonly string[] {
  if (!isMap(map)) return []
  return map.items.flatMap(({ key, value }, index) => {
    if (!isScalar(key)) return []
    // The YAML parser attaches the comment above the first key to the map, not to the key.
    const comment = [key.commentBefore, index === 0 ? map.commentBefore : ''].join('\n')
    const description = /^ -- (.*)$/m.exec(comment)?.[1]
    const name = [...path, String(key.value)]
    if (description === undefined) return rowsOf(value, name)
    const initial = JSON.stringify(isNode(value) ? value.toJSON() : value)
    return [`| \`${name.join('.')}\` | \`${initial}\` | ${description.replaceAll('|', '\\|')} |`]
  })
}
