import { checkChallenge } from './check-challenge.ts'
import { checkEndpoints } from './check-endpoints.ts'
import { checkResource } from './check-resource.ts'
import { checkScopes, checkServer } from './check-server.ts'
import { checkClock, checkTransport } from './check-transport.ts'
import type { Examination } from './checks.ts'

/** Limits the number of requests that a malicious server can cause. */
const MAX_ISSUERS = 20

/**
 * Follows the discovery documents of a gateway. Knows only the address of the gateway, because a client also knows only
 * the address.
 */
export async function examine(examination: Examination): Promise<void> {
  const { baseUrl, client, report } = examination
  const transport = await checkTransport(examination)
  if (!transport) return
  const resource = await checkResource(examination)
  if (resource === undefined) return
  checkClock(resource.document, examination)
  if (resource.issuers.length > MAX_ISSUERS)
    report.warn(
      'resource-metadata',
      resource.document.url,
      `the metadata names ${resource.issuers.length} authorization servers; only the first ${MAX_ISSUERS} were checked`,
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
      'the document contains no path that needs a token, so no challenge was checked',
      'name a path that needs a token, for example: --path /api/courses',
    )
  await checkChallenge(path, { ...examination, metadataUrl: resource.document.url, client })
}

/**
 * Value of each path parameter. Any value works, because the gateway rejects an invalid token before it forwards a
 * request.
 */
const PARAMETER_VALUE = 'scopegate-doctor'

/**
 * Returns the path of `--path`, else a path whose GET requires a token according to the gateway's own API description.
 * Prefers a path without parameters, else fills in each parameter. The description contains `**` at the end of a route
 * as a parameter.
 * @returns undefined without such a path, or without a description.
 */
async function findProtectedPath({
  baseUrl,
  resourcePath,
  protectedPath,
  client,
}: Examination): Promise<string | undefined> {
  if (protectedPath !== undefined) return protectedPath
  const response = await client.send(`${baseUrl}/openapi.json`)
  if ('failed' in response || response.json === undefined) return undefined
  const { paths } = response.json
  if (typeof paths !== 'object' || paths === null) return undefined
  const secured = Object.entries(paths).flatMap(([path, item]) => {
    const isInside = path === resourcePath || path.startsWith(`${resourcePath}/`)
    const security = (item as { get?: { security?: unknown } } | null)?.get?.security
    return isInside && Array.isArray(security) && security.length > 0 ? [path] : []
  })
  const path = secured.find((one) => !one.includes('{')) ?? secured[0]
  return path?.replace(/\{[^{}]*\}/g, PARAMETER_VALUE)
}
