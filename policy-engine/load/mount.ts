import type { YamlDocument } from '../../platform/diagnostics/yaml/yaml-document.ts'
import { parsePathTemplate, type TemplateProblem } from '../match/path-template.ts'
import { findReservedPath } from '../match/reserved-paths.ts'

/** Why a mount cannot be used: P108 not a prefix, P302 in a tree of Scopegate. */
export type MountProblem = TemplateProblem & { readonly code: 'P108' | 'P302' }

/**
 * Reads a mount: literal segments without a slash at the end, or `/` for none.
 * @returns the prefix that clients put before the paths of a policy; empty for `/`.
 */
export function parseMount(mount: string): { readonly prefix: string } | MountProblem {
  if (mount === '/') return { prefix: '' }
  const template = parsePathTemplate(mount)
  if ('problem' in template) return { code: 'P108', ...template }
  const { segments, below } = template
  if (below || segments.some((one) => 'parameter' in one))
    return {
      code: 'P108',
      problem: 'a mount consists of literal segments',
      hint: 'write {parameters} and ** in match.path',
    }
  if (mount.endsWith('/'))
    return {
      code: 'P108',
      problem: 'a mount has no slash at its end',
      hint: `write "${mount.slice(0, -1)}"`,
    }
  const reserved = findReservedPath({ segments: [...segments, { literal: '' }], below: false })
  if (reserved === undefined) return { prefix: mount }
  const problem = `${JSON.stringify(mount)} belongs to Scopegate itself (${reserved})`
  return { code: 'P302', problem, hint: 'choose another path' }
}

/**
 * Returns the prefix of a route in an unchecked file: from its own mount, else from `defaults`, else the empty text;
 * undefined when that mount cannot be used, which `checkMounts` reports.
 */
export function prefixOf(route: unknown, document: YamlDocument): string | undefined {
  const mount =
    rawMount(route) ?? rawMount((document.value as { defaults?: unknown } | null)?.defaults) ?? '/'
  const parsed = typeof mount === 'string' ? parseMount(mount) : undefined
  return parsed !== undefined && 'prefix' in parsed ? parsed.prefix : undefined
}

/** The mount that a route or `defaults` has, as written. */
export function rawMount(holder: unknown): unknown {
  return (holder as { mount?: unknown } | null | undefined)?.mount
}
