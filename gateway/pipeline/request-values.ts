import type { RequestValues } from '../../policy-engine/match/request-values.ts'
import type { CanonicalRequest } from './canonical-request.ts'

/** Returns the values that conditions can compare claims with: forwarded headers, the query and the path parameters. */
export function requestValues(
  params: Readonly<Record<string, string>>,
  { headers, query }: CanonicalRequest,
): RequestValues {
  return { params, query, header: (name) => headers.header(name) }
}
