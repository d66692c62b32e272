import { relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { DEFAULTS } from '../../../gateway/config/defaults.ts'
import {
  addressesOf,
  type UpstreamEntry,
  type UpstreamsFile,
} from '../../../gateway/config/upstreams-file.ts'
import { parseDurationMs } from '../../../platform/diagnostics/schema/value-formats.ts'

/** The upstreams of a configuration. */
export type UpstreamsSide = {
  readonly upstreams: UpstreamsFile
  /** Absolute path of the folder of the configuration. */
  readonly configDir: string
  /** Absolute path of the repository, or of the folder that contains the configuration. */
  readonly root: string
}

/** A difference between the settings of an upstream. The values are from upstreams.yaml, which contains no secrets. */
export type UpstreamChange = {
  readonly kind: 'changed' | 'new' | 'gone'
  readonly name: string
  /** Changed keys. A value is null if the key is absent and has no default. */
  readonly details: readonly { readonly key: string; readonly old: unknown; readonly now: unknown }[]
}

const DEFAULT_SETTINGS = flatten({
  timeout: DEFAULTS.upstreamTimeout,
  connectTimeout: DEFAULTS.connectTimeout,
  idleTimeout: DEFAULTS.idleTimeout,
  ejection: DEFAULTS.ejection,
  healthCheck: DEFAULTS.healthCheck,
  ...DEFAULTS.upstreamConnections,
})

/** Compares the upstreams of two configurations. Ignores the order of keys, units of durations and explicit defaults. */
export function compareUpstreams(oldSide: UpstreamsSide, nowSide: UpstreamsSide): readonly UpstreamChange[] {
  const [old, now] = [oldSide.upstreams, nowSide.upstreams]
  return [...new Set([...Object.keys(old), ...Object.keys(now)])].sort().flatMap((name): UpstreamChange[] => {
    const before = Object.hasOwn(old, name) ? old[name] : undefined
    const after = Object.hasOwn(now, name) ? now[name] : undefined
    if (before === undefined || after === undefined)
      return [{ kind: before === undefined ? 'new' : 'gone', name, details: [] }]
    const [was, is] = [settingsOf(before, oldSide), settingsOf(after, nowSide)]
    const details = [...new Set([...was.keys(), ...is.keys()])]
      .filter((key) => !isDeepStrictEqual(comparable(was.get(key)), comparable(is.get(key))))
      .map((key) => ({ key, old: was.get(key) ?? null, now: is.get(key) ?? null }))
    return details.length === 0 ? [] : [{ kind: 'changed', name, details }]
  })
}

function settingsOf(entry: UpstreamEntry, side: UpstreamsSide): ReadonlyMap<string, unknown> {
  const { url: _, ...others } = entry
  const addresses = entry.srv === undefined ? { urls: addressesOf(entry) } : {}
  const own = flatten({ ...others, ...addresses }).map(
    ([key, value]) => [key, key.endsWith('File') ? portablePath(String(value), side) : value] as const,
  )
  return new Map([...DEFAULT_SETTINGS, ...own])
}

/**
 * Returns the path of a file in the repository relative to the configuration. The copy of a git revision has other
 * absolute paths.
 */
function portablePath(path: string, { configDir, root }: UpstreamsSide): string {
  return path.startsWith(root + sep) ? relative(configDir, path) : path
}

function flatten(value: object, prefix = ''): readonly (readonly [key: string, value: unknown])[] {
  return Object.entries(value).flatMap(([key, inner]): readonly (readonly [string, unknown])[] =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? flatten(inner, `${prefix}${key}.`)
      : [[prefix + key, inner]],
  )
}

function comparable(value: unknown): unknown {
  return typeof value === 'string' ? (parseDurationMs(value) ?? value) : value
}
