import type { RequestValues } from '../../policy-engine/match/request-values.ts'
import type { CanonicalRequest } from './canonical-request.ts'

/** What conditions may compare claims with: what goes on to the upstream, and what the route's path met. */
export function requestValues(
  params: Readonly<Record<string, string>>,
  { headers, query }: CanonicalRequest,
): RequestValues {
  return { params, query, header: (name) => headers.header(name) }
}
