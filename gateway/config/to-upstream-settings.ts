import type { UpstreamSettings } from '../upstreams/pool.ts'
import { DEFAULTS } from './defaults.ts'
import { milliseconds } from './to-numbers.ts'
import { addressesOf, type UpstreamEntry } from './upstreams-file.ts'

/**
 * Converts an entry of config/upstreams.yaml: fills in defaults and converts durations to milliseconds. `ca` is the
 * content of its `caFile`.
 */
export function toUpstreamSettings(
  name: string,
  upstream: UpstreamEntry,
  ca: string | undefined,
): UpstreamSettings {
  return {
    name,
    urls: addressesOf(upstream),
    timeoutMs: milliseconds(upstream.timeout ?? DEFAULTS.upstreamTimeout),
    connectTimeoutMs: milliseconds(upstream.connectTimeout ?? DEFAULTS.connectTimeout),
    idleTimeoutMs: milliseconds(upstream.idleTimeout ?? DEFAULTS.idleTimeout),
    ejection: {
      failures: upstream.ejection?.failures ?? DEFAULTS.ejection.failures,
      longestPauseMs: milliseconds(upstream.ejection?.for ?? DEFAULTS.ejection.for),
    },
    openapiPath: upstream.openapi,
    ca,
  }
}
