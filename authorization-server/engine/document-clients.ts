import type { IncomingMessage } from 'node:http'
import { type Configuration, errors, Provider } from 'oidc-provider'
import { ClientDocumentError } from '../client-documents/client-document-error.ts'
import type { ClientDocuments } from '../client-documents/client-documents.ts'
import type { ClientDocument } from '../client-documents/parse-client-document.ts'

const { InvalidClient, InvalidClientAuth } = errors

/**
 * Routes that read the current document of a client. All other routes use the copy that the server stored at the
 * consent. The server therefore needs no connection to the host of a document to refresh or introspect a token.
 */
const CURRENT_ROUTES: readonly unknown[] = ['authorization', 'resume', 'pushed_authorization_request']

/** Returns whether the engine now handles a request that reads the current document of a client. */
export function readsCurrentDocument(): boolean {
  return CURRENT_ROUTES.includes(Provider.ctx?.oidc.route)
}

type Feature = NonNullable<NonNullable<Configuration['features']>['clientIdMetadataDocument']>

/**
 * Returns the settings of the engine for client documents. The engine caches nothing, because `documents` has a cache.
 */
export function documentFeature(documents: ClientDocuments | undefined): Feature {
  if (documents === undefined) return { enabled: false }
  return {
    enabled: true,
    ack: 'draft-02',
    cacheDuration: { min: 0, max: 0 },
    allowFetch: async (_ctx, clientId) => {
      if (!readsCurrentDocument()) throw new InvalidClientAuth('the server has no copy of the document')
      // The engine hides the reason of a failed fetch. An error of this function reaches the client.
      await findDocument(documents, clientId)
      return true
    },
  }
}

/**
 * Returns the `fetch` of the engine, which only returns client documents. The engine sends no other requests, because
 * the metadata of its clients contains no URL that the engine fetches.
 */
export function documentFetch(documents: ClientDocuments | undefined): NonNullable<Configuration['fetch']> {
  return async (url) => {
    if (documents === undefined) throw new Error(`the engine must not fetch ${String(url)}`)
    return Response.json(await findDocument(documents, String(url)))
  }
}

type Lookup = { readonly clientId: string; readonly document: Promise<ClientDocument> }

/** The lookup of each request. The engine looks up the client several times, also after a failure. */
const lookups = new WeakMap<IncomingMessage, Lookup>()

function findDocument(documents: ClientDocuments, clientId: string): Promise<ClientDocument> {
  const request = Provider.ctx?.req
  const known = request && lookups.get(request)
  if (known?.clientId === clientId) return known.document
  const document = documents.find(clientId).catch(rejectDocument)
  if (request !== undefined) lookups.set(request, { clientId, document })
  return document
}

/**
 * Throws `InvalidClient` if the server could not fetch the client document, or does not accept the document. Rethrows
 * all other errors.
 */
export function rejectDocument(error: unknown): never {
  throw error instanceof ClientDocumentError ? new InvalidClient(error.message, error.reason) : error
}

/** Finds a client. Undefined: no client has this id, or the server has no copy of the document of the client. */
export async function findClient(
  provider: Provider,
  clientId: string,
): ReturnType<Provider['Client']['find']> {
  try {
    return await provider.Client.find(clientId)
  } catch (error) {
    if (error instanceof InvalidClientAuth) return undefined
    throw error
  }
}
