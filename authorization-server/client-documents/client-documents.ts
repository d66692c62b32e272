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
  /** Hosts of the documents, with a port if it is not 443. */
  readonly domains: readonly string[]
  readonly network: DocumentNetwork
  /** Monotonic clock. Milliseconds. */
  readonly tickMs: () => number
  readonly onFetch: (fetch: DocumentFetch) => void
}

const MAX_URL_LENGTH = 1_024
const MIN_CACHE_SECONDS = 60
const MAX_CACHE_SECONDS = 86_400
const FAILURE_CACHE_SECONDS = 10
const MAX_DOCUMENTS = 500
const MAX_FAILURES = 1_000
const FETCHES = { maxConcurrent: 8, maxQueue: 32 } as const

type Entry<T> = { readonly value: T; readonly untilMs: number }

/** Creates the cache of client documents. Concurrent requests for one document share one fetch. */
export function createClientDocuments(options: ClientDocumentsOptions): ClientDocuments {
  const { domains, network, onFetch, tickMs } = options
  const documents = new Map<string, Entry<ClientDocument>>()
  // A separate map: requests for documents that do not exist must not evict valid documents.
  const failures = new Map<string, Entry<ClientDocumentError>>()
  const fetches = new Map<string, Promise<ClientDocument>>()
  const semaphore = createSemaphore(FETCHES)

  async function load(clientId: string, url: URL): Promise<ClientDocument> {
    // The time limit includes the wait for a free slot.
    const signal = AbortSignal.timeout(network.timeoutMs)
    try {
      const fetched = semaphore.run(() => fetchClientDocument(url, network, signal), signal)
      if (fetched === undefined) throw new ClientDocumentError('busy')
      const { text, freshSeconds = 0 } = await fetched
      const document = parseClientDocument(text, clientId)
      const seconds = Math.min(MAX_CACHE_SECONDS, Math.max(MIN_CACHE_SECONDS, freshSeconds))
      store(documents, clientId, { value: document, untilMs: tickMs() + seconds * 1_000 }, MAX_DOCUMENTS)
      onFetch({ clientId, result: 'ok' })
      return document
    } catch (cause) {
      const error = signal.aborted && cause === signal.reason ? new ClientDocumentError('timeout') : cause
      if (!(error instanceof ClientDocumentError)) throw error
      const untilMs = tickMs() + FAILURE_CACHE_SECONDS * 1_000
      if (error.reason !== 'busy') store(failures, clientId, { value: error, untilMs }, MAX_FAILURES)
      onFetch({ clientId, result: error.reason, cause: error.cause })
      throw error
    }
  }

  function fetchOnce(clientId: string, url: URL): Promise<ClientDocument> {
    const running = fetches.get(clientId)
    if (running !== undefined) return running
    const fetching = load(clientId, url).finally(() => fetches.delete(clientId))
    fetches.set(clientId, fetching)
    return fetching
  }

  return {
    accepts: (clientId) => {
      const url = readDocumentUrl(clientId)
      return url !== undefined && domains.includes(url.host)
    },
    find: async (clientId) => {
      const url = readDocumentUrl(clientId)
      if (url === undefined) throw new ClientDocumentError('invalid_url')
      if (!domains.includes(url.host)) throw new ClientDocumentError('not_listed')
      const document = findFresh(documents, clientId, tickMs())
      if (document !== undefined) return document
      const failure = findFresh(failures, clientId, tickMs())
      if (failure !== undefined) throw failure
      return fetchOnce(clientId, url)
    },
  }
}

/**
 * Reads the URL of a client document: https, canonical spelling, with a path, no credentials, no fragment. The
 * canonical spelling has no dot segments, no default port and no upper case letters in the host.
 * Source: draft-ietf-oauth-client-id-metadata-document-02.
 * @returns undefined for any other text.
 */
export function readDocumentUrl(clientId: string): URL | undefined {
  if (!clientId.startsWith('https://') || clientId.length > MAX_URL_LENGTH || clientId.includes('#'))
    return undefined
  const url = URL.parse(clientId)
  if (url === null || url.href !== clientId || url.pathname === '/') return undefined
  return url.username === '' && url.password === '' ? url : undefined
}

function findFresh<T>(entries: ReadonlyMap<string, Entry<T>>, key: string, nowMs: number): T | undefined {
  const entry = entries.get(key)
  return entry !== undefined && nowMs < entry.untilMs ? entry.value : undefined
}

/** Stores an entry. Evicts the oldest entry when the map is full. */
function store<T>(entries: Map<string, Entry<T>>, key: string, entry: Entry<T>, max: number): void {
  entries.delete(key)
  entries.set(key, entry)
  if (entries.size <= max) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}
