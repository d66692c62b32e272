import { protectedResourceMetadataPath } from '../../../oauth/metadata.ts'
import { checkDocument, type ReadDocument, textMember, textsMember } from './check-document.ts'
import type { Examination } from './checks.ts'

export type DiscoveredResource = {
  readonly document: ReadDocument
  readonly issuers: readonly string[]
  readonly scopes: readonly string[]
}

/** A path without a separate resource. Clients first look for metadata at the path of their request URL. */
const NO_RESOURCE = '/scopegate-doctor-asks-for-a-resource-that-is-not-there'

/**
 * Checks the protected resource metadata as a client does, and checks that an unknown resource has no metadata. RFC
 * 9728 sections 3 and 3.3.
 * @returns undefined without a readable document.
 */
export async function checkResource(examination: Examination): Promise<DiscoveredResource | undefined> {
  const { baseUrl, resourcePath, client, report } = examination
  const url = baseUrl + protectedResourceMetadataPath(resourcePath)
  const document = checkDocument(await client.send(url), 'resource-metadata', report)
  if (document === undefined) return undefined
  const expected = baseUrl + resourcePath
  const resource = textMember(document.json, 'resource')
  if (resource === expected) report.ok('resource', url, expected)
  else
    report.fault(
      'resource',
      url,
      `\`resource\` is ${resource === undefined ? 'missing' : `"${resource}"`}, but clients use "${expected}"`,
      `set baseUrl in gateway.yaml (and issuer in authorization-server.yaml) to "${baseUrl}", or give clients the other URL`,
    )
  const issuers = textsMember(document.json, 'authorization_servers').filter(isWebAddress)
  if (issuers.length === 0)
    report.fault(
      'resource-metadata',
      url,
      'authorization_servers contains no http or https URL',
      'list the issuer under `issuers` in gateway.yaml',
    )
  else report.ok('resource-metadata', url, `authorization servers: ${issuers.join(', ')}`)
  await checkPathMetadata(examination)
  return { document, issuers, scopes: textsMember(document.json, 'scopes_supported') }
}

async function checkPathMetadata({ baseUrl, client, report }: Examination): Promise<void> {
  const url = baseUrl + protectedResourceMetadataPath(NO_RESOURCE)
  const response = await client.send(url)
  if ('failed' in response) return report.fault('path-metadata', url, response.failed, 'return 404')
  if (response.status === 404) return report.ok('path-metadata', url, '404 for an unknown resource')
  report.fault(
    'path-metadata',
    url,
    `the status is ${response.status} for an unknown resource, not 404`,
    'return 404 for resources that are not configured: clients discard a document with a wrong `resource`',
  )
}

function isWebAddress(text: string): boolean {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '')
}
