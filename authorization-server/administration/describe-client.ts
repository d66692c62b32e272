import { readDocumentUrl } from '../client-documents/client-documents.ts'
import type { ListedArtifact } from '../store/store.ts'
import { textOf, textsOf, timeOf } from './payload-values.ts'

/** A client of the configuration: an integration, the gateway or the canary. */
export type ConfiguredClient = { readonly clientId: string; readonly clientName: string }

export type DescribedClient = {
  readonly client: string
  readonly name: string | null
  /** For `document`, the `client_id` is the URL of a client document. */
  readonly kind: 'configured' | 'registered' | 'document'
  readonly redirectUris: readonly string[]
  readonly registered: string | null
  readonly expires: string | null
}

export function describeClient({
  payload,
  expiresAtSeconds,
}: Pick<ListedArtifact, 'payload' | 'expiresAtSeconds'>): DescribedClient {
  return {
    client: textOf(payload['client_id']) ?? '',
    name: textOf(payload['client_name']) ?? null,
    kind: clientKind(textOf(payload['client_id'])),
    redirectUris: textsOf(payload['redirect_uris']),
    registered: timeOf(payload['client_id_issued_at']),
    expires: timeOf(expiresAtSeconds),
  }
}

export function describeConfiguredClient({ clientId, clientName }: ConfiguredClient): DescribedClient {
  return {
    client: clientId,
    name: clientName,
    kind: 'configured',
    redirectUris: [],
    registered: null,
    expires: null,
  }
}

export function clientKind(clientId = ''): 'registered' | 'document' {
  return readDocumentUrl(clientId) === undefined ? 'registered' : 'document'
}
