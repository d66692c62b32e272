import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { parsePathTemplate, type TemplateProblem } from '../match/path-template.ts'
import { findReservedPath } from '../match/reserved-paths.ts'

/** Reason why a mount is invalid: P108 not a prefix, P302 reserved by Scopegate. */
export type MountProblem = TemplateProblem & { readonly code: 'P108' | 'P302' }

/**
 * Parses a mount: literal segments without a trailing slash, or `/` for no mount.
 * @returns the prefix that clients add to the paths of a policy; empty for `/`.
 */
export function parseMount(mount: string): { readonly prefix: string } | MountProblem {
  if (mount === '/') return { prefix: '' }
  const template = parsePathTemplate(mount)
  if ('problem' in template) return { code: 'P108', ...template }
  const { segments, below } = template
  if (below || segments.some((one) => 'parameter' in one))
    return {
      code: 'P108',
      problem: 'a mount must consist of literal segments',
      hint: 'write {parameters} and ** in match.path',
    }
  if (mount.endsWith('/'))
    return {
      code: 'P108',
      problem: 'a mount must not end with a slash',
      hint: `write "${mount.slice(0, -1)}"`,
    }
  const reserved = findReservedPath({ segments: [...segments, { literal: '' }], below: false })
  if (reserved === undefined) return { prefix: mount }
  const problem = `${JSON.stringify(mount)} is reserved by Scopegate (${reserved})`
  return { code: 'P302', problem, hint: 'choose another path' }
}

/**
 * Returns the prefix of a route in an unchecked file: from the mount of the route, else from `defaults`, else empty.
 * Returns undefined for an invalid mount, which `checkMounts()` reports.
 */
export function prefixOf(route: unknown, document: YamlDocument): string | undefined {
  const mount =
    rawMount(route) ?? rawMount((document.value as { defaults?: unknown } | null)?.defaults) ?? '/'
  const parsed = typeof mount === 'string' ? parseMount(mount) : undefined
  return parsed !== undefined && 'prefix' in parsed ? parsed.prefix : undefined
}

export function rawMount(holder: unknown): unknown {
  return (holder as { mount?: unknown } | null | undefined)?.mount
}
