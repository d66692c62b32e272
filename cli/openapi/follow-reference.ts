import { isRecord } from '../../platform/diagnostics/record.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { own, valueAt } from './plain-data.ts'

/** A value and its path after all references are resolved, or the reason for a failure. */
export type FollowedReference =
  | { readonly value: unknown; readonly path: YamlPath }
  | { readonly problem: string; readonly hint: string; readonly path: YamlPath }

const MAX_STEPS = 32 // chained references; a longer chain is a mistake

/**
 * Resolves `$ref` repeatedly, within the document only. Never fetches anything.
 * Source: RFC 6901 section 6, OpenAPI 3.1 section 4.8.23.
 */
export function followReference(root: unknown, start: YamlPath): FollowedReference {
  const seen = new Set<string>()
  let path = start
  for (let steps = 0; steps < MAX_STEPS; steps++) {
    const value = valueAt(root, path)
    const reference = isRecord(value) ? own(value, '$ref') : undefined
    if (reference === undefined) return { value, path }
    const at = [...path, '$ref']
    if (typeof reference !== 'string')
      return { problem: '$ref must be a string', hint: 'write "#/…"', path: at }
    if (!reference.startsWith('#'))
      return {
        problem: `${shorten(reference)} is in another document, but a contract must be one document`,
        hint: 'bundle the contract into one file first',
        path: at,
      }
    const next = readPointer(reference.slice(1), root)
    if (next === undefined)
      return {
        problem: `${shorten(reference)} does not exist in the document`,
        hint: 'correct the reference',
        path: at,
      }
    const key = JSON.stringify(next)
    if (seen.has(key))
      return {
        problem: `${shorten(reference)} is a circular reference`,
        hint: 'replace the first reference by the content that it points to',
        path: at,
      }
    seen.add(key)
    path = next
  }
  return {
    problem: `more than ${MAX_STEPS} references form a chain`,
    hint: 'replace the first reference by the content that it points to',
    path: start,
  }
}

function readPointer(pointer: string, root: unknown): YamlPath | undefined {
  let text: string
  try {
    text = decodeURIComponent(pointer)
  } catch {
    return undefined
  }
  if (!text.startsWith('/')) return undefined
  const path: (string | number)[] = []
  let value = root
  for (const raw of text.slice(1).split('/')) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    const step = Array.isArray(value) && /^(?:0|[1-9]\d*)$/.test(key) ? Number(key) : key
    value = valueAt(value, [step])
    if (value === undefined) return undefined
    path.push(step)
  }
  return path
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text)
}
