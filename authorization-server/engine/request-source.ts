import { ipPrefix } from '../../platform/net/ip-prefix.ts'
import { hashId } from '../store/artifact-record.ts'
import type { ArtifactSource } from '../store/store.ts'

/**
 * Returns the source of a request for the limits: the authenticated integration, or the address of the client.
 */
export function requestSource(request: {
  readonly clientAddress: string
  readonly integrationId?: string | undefined
}): ArtifactSource {
  const { clientAddress, integrationId } = request
  if (integrationId === undefined)
    return { address: ipPrefix(clientAddress), network: ipPrefix(clientAddress, 48) }
  // hashed, because the id of an integration may contain colons, as an IPv6 address does
  const client = `client ${hashId(integrationId)}`
  return { address: client, network: client }
}
