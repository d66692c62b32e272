import { optionalCheck, type ReadinessCheck } from '../../platform/ops/ops-server.ts'

/** The part of the gateway that a check of `/readyz` concerns. */
export type CheckKind =
  | 'accepting'
  | 'event_loop'
  | 'introspection'
  | 'issuer_keys'
  | 'policies'
  | 'policy_source'
  | 'redis'
  | 'revocation_stream'
  | 'secret_files'
  | 'token_status'
  | 'upstream_credentials'
  | 'upstream_target'
  | 'workers'

export type GatewayCheck = ReadinessCheck & {
  readonly kind: CheckKind
  /** The name of the policy source, for `policy_source`. */
  readonly source?: string
}

/** Returns the check of an optional component. See {@link optionalCheck}. */
export function optionalGatewayCheck(
  kind: CheckKind,
  name: string,
  problem: string | undefined,
): GatewayCheck {
  return { kind, ...optionalCheck(name, problem) }
}
