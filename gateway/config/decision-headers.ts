import type { DecisionHeaders, DecisionProtocol } from './gateway-config.ts'
import type { GatewayFile } from './gateway-file.ts'

/** The names of the headers in which an ingress sends the method and the target of the client, in lower case. */
export type HeaderFamily = { readonly method: string; readonly target: string }

/** The usual names. Envoy sends method and target without these headers. */
export const HEADER_FAMILIES = {
  'auth-request': { method: 'x-original-method', target: 'x-original-uri' },
  'forward-auth': { method: 'x-forwarded-method', target: 'x-forwarded-uri' },
} satisfies Partial<Record<DecisionProtocol, HeaderFamily>>

/** Returns the names in lower case, as Node.js writes header names. */
export function toDecisionHeaders(
  headers: NonNullable<GatewayFile['decisions']>['headers'],
): DecisionHeaders | undefined {
  if (headers === undefined) return undefined
  return Object.fromEntries(Object.entries(headers).map(([key, name]) => [key, name.toLowerCase()]))
}
