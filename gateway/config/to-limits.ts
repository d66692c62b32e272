import { DEFAULTS } from './defaults.ts'
import type { GatewayConfig } from './gateway-config.ts'
import type { GatewayFile } from './gateway-file.ts'
import { bytes } from './to-numbers.ts'

/** Converts `limits` of gateway.yaml to bytes, with the defaults filled in. */
export function toLimits(file: GatewayFile['limits']): GatewayConfig['limits'] {
  const limits = { ...DEFAULTS.limits, ...file }
  return {
    bodyBytes: bytes(limits.body),
    headersBytes: bytes(limits.headers),
    targetBytes: bytes(limits.target),
    tokenBytes: bytes(limits.token),
    connections: limits.connections,
  }
}
