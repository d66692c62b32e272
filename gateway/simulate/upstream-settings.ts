import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { isRecord } from '../../platform/diagnostics/record.ts'
import { DEFAULTS } from '../config/defaults.ts'
import type { UpstreamEntry } from '../config/upstreams-file.ts'

/** Returns the settings of an upstream with their defaults. The paths of files are as in messages. */
export function withDefaults(entry: UpstreamEntry): UpstreamEntry {
  const { timeout, connectTimeout, idleTimeout, ejection, healthCheck } = entry
  return showPaths({
    ...(entry.maxConnections === undefined ? {} : DEFAULTS.upstreamConnections),
    ...entry,
    timeout: timeout ?? DEFAULTS.upstreamTimeout,
    connectTimeout: connectTimeout ?? DEFAULTS.connectTimeout,
    idleTimeout: idleTimeout ?? DEFAULTS.idleTimeout,
    ejection: { ...DEFAULTS.ejection, ...ejection },
    ...(healthCheck === undefined ? {} : { healthCheck: { ...DEFAULTS.healthCheck, ...healthCheck } }),
  })
}

/** Each line of the description has the settings of one subject. */
const SUBJECTS: readonly (readonly (keyof UpstreamEntry)[])[] = [
  ['srv'],
  ['weights'],
  ['maxConnections', 'maxPendingRequests', 'queueTimeout'],
  ['healthCheck'],
  ['credentials'],
]

/** Describes the settings that determine which address gets a request, and with which credentials. One line each. */
export function describeSettings(settings: UpstreamEntry | undefined): readonly string[] {
  if (settings === undefined) return []
  return SUBJECTS.flatMap((keys) => {
    const texts = keys.flatMap((key) => (settings[key] === undefined ? [] : [describe(key, settings[key])]))
    return texts.length === 0 ? [] : [texts.join(', ')]
  })
}

function describe(key: string, value: unknown): string {
  if (Array.isArray(value)) return `${key} [${value.join(', ')}]`
  if (!isRecord(value)) return `${key} ${String(value)}`
  const inner = Object.entries(value).map(([name, one]) => describe(name, one))
  return `${key} { ${inner.join(', ')} }`
}

function showPaths<V extends object>(value: V): V {
  const shown = Object.entries(value).map(([key, inner]) => {
    if (isRecord(inner)) return [key, showPaths(inner)]
    return [key, key.endsWith('File') ? displayPath(String(inner)) : inner]
  })
  return Object.fromEntries(shown)
}
