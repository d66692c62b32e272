import type { Address, ResolveName } from '../../platform/net/resolve-name.ts'
import { createSemaphore } from '../../platform/semaphore.ts'
import { ClientDocumentError, type ClientDocumentReason } from './client-document-error.ts'
import { type DocumentNetwork, fetchClientDocument } from './fetch-client-document.ts'
import { type ClientDocument, parseClientDocument } from './parse-client-document.ts'

/** Client documents of the listed hosts. draft-ietf-oauth-client-id-metadata-document-02. */
export type ClientDocuments = {
  /** Returns whether a `client_id` is the URL of a document at a listed host. */
  accepts(clientId: string): boolean
  /**
   * Returns the document at a URL, from the cache or from its host.
   * @throws {ClientDocumentError} when the server has no valid document.
   */
  find(clientId: string): Promise<ClientDocument>
}

/** Result of one fetch, for the log and the metrics. `cause` is for the log only. */
export type DocumentFetch = {
  readonly clientId: string
  readonly result: 'ok' | ClientDocumentReason
  readonly cause?: unknown
}

export type ClientDocumentsOptions = {
  /** Hosts of the documents, with a port if the port is not 443. */
  readonly domains: readonly string[]
  readonly network: DocumentNetwork
  readonly tickMs: () => number
  readonly onFetch: (fetch: DocumentFetch) => void
}

const MAX_URL_LENGTH = 1_024
const MIN_CACHE_SECONDS = 60
const MAX_CACHE_SECONDS = 86_400
const MAX_DOCUMENTS = 500
/** Limits of each host, so that a slow host delays no documents of other hosts. */
const FETCHES = { maxConcurrent: 8, maxQueue: 32 } as const

/** Reasons that say nothing about the document. The server then uses an expired document. RFC 5861 section 4. */
const UNAVAILABLE: readonly ClientDocumentReason[] = ['busy', 'connection', 'timeout', 'unavailable']
const MAX_STALE_SECONDS = 3_600
/** Time between two fetches of a document whose host is unavailable. */
const RETRY_SECONDS = 10

type Entry = { readonly document: ClientDocument; readonly untilMs: number; readonly staleUntilMs: number }

/**
 * Creates the cache of client documents. Concurrent requests for one document share one fetch.
 * The cache stores no failures. Source: draft-ietf-oauth-client-id-metadata-document-02 section 5.2.
 */
export function createClientDocuments(options: ClientDocumentsOptions): ClientDocuments {
  const { domains, onFetch, tickMs } = options
  const network = { ...options.network, resolve: shareLookups(options.network.resolve) }
  const documents = new Map<string, Entry>()
  const fetches = new Map<string, Promise<ClientDocument>>()
  const semaphores = new Map(domains.map((domain) => [domain, createSemaphore(FETCHES)]))

  async function fetchDocument(clientId: string, url: URL): Promise<Entry> {
    // The time limit includes the wait for a free slot.
    const signal = AbortSignal.timeout(network.timeoutMs)
    try {
      const semaphore = semaphores.get(url.host)
      const fetched = semaphore?.run(() => fetchClientDocument(url, network, signal), signal)
      if (fetched === undefined) throw new ClientDocumentError('busy')
      const { text, freshSeconds = 0 } = await fetched
      const document = parseClientDocument(text, clientId)
      const seconds = Math.min(MAX_CACHE_SECONDS, Math.max(MIN_CACHE_SECONDS, freshSeconds))
      const untilMs = tickMs() + seconds * 1_000
      return { document, untilMs, staleUntilMs: untilMs + MAX_STALE_SECONDS * 1_000 }
    } catch (error) {
      throw signal.aborted && error === signal.reason ? new ClientDocumentError('timeout') : error
    }
  }

  async function load(clientId: string, url: URL): Promise<ClientDocument> {
    try {
      const entry = await fetchDocument(clientId, url)
      store(documents, clientId, entry)
      onFetch({ clientId, result: 'ok' })
      return entry.document
    } catch (error) {
      if (!(error instanceof ClientDocumentError)) throw error
      onFetch({ clientId, result: error.reason, cause: error.cause })
      const expired = documents.get(clientId)
      if (expired === undefined) throw error
      if (!UNAVAILABLE.includes(error.reason) || tickMs() >= expired.staleUntilMs) {
        documents.delete(clientId)
        throw error
      }
      const untilMs = Math.min(expired.staleUntilMs, tickMs() + RETRY_SECONDS * 1_000)
      store(documents, clientId, { ...expired, untilMs })
      return expired.document
    }
  }

  return {
    accepts: (clientId) => {
      const url = readDocumentUrl(clientId)
      return url !== undefined && semaphores.has(url.host)
    },
    find: async (clientId) => {
      const url = readDocumentUrl(clientId)
      if (url === undefined) throw new ClientDocumentError('invalid_url')
      if (!semaphores.has(url.host)) throw new ClientDocumentError('not_listed')
      const cached = documents.get(clientId)
      if (cached !== undefined && tickMs() < cached.untilMs) return cached.document
      const running = fetches.get(clientId)
      if (running !== undefined) return running
      const loading = load(clientId, url).finally(() => fetches.delete(clientId))
      fetches.set(clientId, loading)
      return loading
    },
  }
}

/**
 * Reads the URL of a client document: https, canonical spelling, with a path, no credentials, query and fragment. The
 * canonical spelling has no dot segments, no default port and no upper case letters in the host. The draft discourages
 * queries. A query could contain a document that the host only repeats.
 * Source: draft-ietf-oauth-client-id-metadata-document-02 section 3.
 * @returns undefined for any other text.
 */
export function readDocumentUrl(clientId: string): URL | undefined {
  if (!clientId.startsWith('https://') || clientId.length > MAX_URL_LENGTH || /[?#]/.test(clientId))
    return undefined
  const url = URL.parse(clientId)
  if (url === null || url.href !== clientId || url.pathname === '/') return undefined
  return url.username === '' && url.password === '' ? url : undefined
}

/**
 * Returns a lookup that concurrent fetches share. A lookup continues after the time limit of its fetch, and occupies
 * one of the few threads of Node's thread pool. Many lookups of one name would block all other work of these threads.
 */
function shareLookups(resolve: ResolveName): ResolveName {
  const lookups = new Map<string, Promise<readonly Address[]>>()
  return (hostname) => {
    const running = lookups.get(hostname)
    if (running !== undefined) return running
    const lookup = resolve(hostname).finally(() => lookups.delete(hostname))
    lookups.set(hostname, lookup)
    return lookup
  }
}

/** Stores an entry. Evicts the oldest entry when the map is full. */
function store(documents: Map<string, Entry>, clientId: string, entry: Entry): void {
  documents.delete(clientId)
  documents.set(clientId, entry)
  if (documents.size <= MAX_DOCUMENTS) return
  const [oldest] = documents.keys()
  if (oldest !== undefined) documents.delete(oldest)
}
