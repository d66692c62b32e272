import type { DecisionDetail } from './describe-decision.ts'

export const EXPLAIN_PATH = '/console/explain'

/**
 * Address of the page that explains a recorded request. The record has no headers and only some claims, so the
 * explanation can differ from the decision.
 */
export function explainHref({ method, path, hasToken, granted, client, subject }: DecisionDetail): string {
  const claims = [
    ...(client === null ? [] : [`client_id=${JSON.stringify(client)}`]),
    ...(subject === null ? [] : [`sub=${JSON.stringify(subject)}`]),
  ]
  const query = new URLSearchParams({ method: method ?? '', path: path ?? '' })
  if (hasToken) {
    query.set('token', 'valid')
    query.set('scopes', granted.join(' '))
    if (claims.length > 0) query.set('claims', claims.join('\n'))
  }
  return `${EXPLAIN_PATH}?${query}`
}
