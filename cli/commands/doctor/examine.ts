import { checkChallenge } from './check-challenge.ts'
import { checkClock } from './check-clock.ts'
import { checkEndpoints } from './check-endpoints.ts'
import { checkResource } from './check-resource.ts'
import { checkScopes } from './check-scopes.ts'
import { checkServer } from './check-server.ts'
import { checkTransport } from './check-transport.ts'
import type { Examination } from './checks.ts'
import { findProtectedPath } from './find-protected-path.ts'

/** Limits the number of requests that a malicious server can cause. */
const MAX_ISSUERS = 20

/** Follows a gateway's discovery documents like a client that has only the address. */
export async function examine(examination: Examination): Promise<void> {
  const { baseUrl, visitor, report } = examination
  const transport = await checkTransport(examination)
  if (!transport) return
  const resource = await checkResource(examination)
  if (resource === undefined) return
  checkClock(resource.visit, examination)
  if (resource.issuers.length > MAX_ISSUERS)
    report.warn(
      'resource-metadata',
      resource.visit.url,
      `it names ${resource.issuers.length} authorization servers; only the first ${MAX_ISSUERS} were checked`,
      'name only servers that issue tokens for the resource',
    )
  for (const issuer of resource.issuers.slice(0, MAX_ISSUERS)) {
    const server = await checkServer(issuer, examination)
    if (server === undefined) continue
    await checkEndpoints(server, examination)
    checkScopes(resource.scopes, server, examination)
  }
  const path = await findProtectedPath(examination)
  if (path === undefined)
    return report.warn(
      'challenge',
      `${baseUrl}/openapi.json`,
      'it contains no path that needs a token, so no challenge was checked',
      'name such a path: --path /api/courses',
    )
  await checkChallenge(path, { ...examination, metadataUrl: resource.visit.url, visitor })
}
