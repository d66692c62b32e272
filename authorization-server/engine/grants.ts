import type { Provider } from 'oidc-provider'
import { parseScope, type ScopeCatalogue } from '../../oauth/scope.ts'
import type { ClientDocuments } from '../client-documents/client-documents.ts'
import type { ArtifactStore } from '../store/store.ts'

export type RequestedAccess = {
  /** The requested scopes that the catalogue contains, in the order of the request, without duplicates. */
  readonly scopes: readonly string[]
  /** The requested resources (RFC 8707); never empty. */
  readonly resources: readonly string[]
}

/** Reads the scopes and resources of an authorization request. Default resource: the issuer. */
export function requestedAccess(
  { scope, resource }: Readonly<Record<string, unknown>>,
  {
    catalogue,
    provider,
  }: { readonly catalogue: ScopeCatalogue; readonly provider: Pick<Provider, 'issuer'> },
): RequestedAccess {
  return {
    scopes: (parseScope(String(scope ?? '')) ?? []).filter((name) => catalogue.has(name)),
    resources: (Array.isArray(resource) ? resource : [resource ?? provider.issuer]).map(String),
  }
}

/** Stores a new grant for the scopes in `granted`. The grant rejects the other scopes of the request. */
export async function saveGrant(
  request: RequestedAccess & { readonly accountId: string; readonly clientId: string },
  granted: readonly string[],
  provider: Provider,
): Promise<InstanceType<Provider['Grant']>> {
  const { accountId, clientId, resources, scopes } = request
  const grant = new provider.Grant({ accountId, clientId })
  const withheld = scopes.filter((scope) => !granted.includes(scope))
  if (granted.length > 0) grant.addOIDCScope([...granted])
  if (withheld.length > 0) grant.rejectOIDCScope(withheld)
  for (const resource of resources) {
    if (granted.length > 0) grant.addResourceScope(resource, [...granted])
    if (withheld.length > 0) grant.rejectResourceScope(resource, withheld)
  }
  await grant.save()
  return grant
}

/**
 * Removes the expiry of a registered client. A client has an expiry only until its first grant. For a client with a
 * document, stores a copy of the document for the lifetime of the grant.
 * @throws {ClientDocumentError} when the server has no valid document.
 */
export async function keepClient(
  clientId: string,
  {
    clients,
    documents,
    grantSeconds,
  }: {
    readonly clients: ArtifactStore
    readonly documents: ClientDocuments | undefined
    readonly grantSeconds: number
  },
): Promise<void> {
  if (documents?.accepts(clientId) === true)
    return clients.upsert(clientId, await documents.find(clientId), grantSeconds)
  const metadata = await clients.find(clientId)
  if (metadata !== undefined) await clients.upsert(clientId, metadata, undefined)
}
