import type { UpstreamSettings } from '../upstreams/pool.ts'
import { DEFAULTS } from './defaults.ts'
import { milliseconds } from './to-numbers.ts'
import { addressesOf, type UpstreamEntry } from './upstreams-file.ts'

/** Turns an entry of config/upstreams.yaml into what an upstream is made from: defaults filled in, durations in milliseconds; `ca` is what its `caFile` holds. */
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
