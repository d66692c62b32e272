import { hash } from 'node:crypto'
import { toRecord } from '../../platform/diagnostics/record.ts'
import type { FailureLog } from '../../platform/logging/failure-log.ts'
import { readResponse } from '../upstreams/read-response.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { type GatewayDocument, type Representation, representation } from './discovery-document.ts'
import { buildOpenapi, type OpenapiOptions, type OpenapiSource } from './openapi.ts'
import type { JsonObject } from './openapi-components.ts'

export type DescribedPolicies = Pick<OpenapiOptions, 'routes' | 'match' | 'catalogue'>

export type OpenapiDocumentsOptions = Omit<OpenapiOptions, 'sources' | keyof DescribedPolicies> & {
  /** Upstreams. The gateway fetches the OpenAPI document of each active upstream with an `openapiPath`. */
  readonly upstreams: { readonly active: readonly Upstream[] }
  readonly failures: FailureLog
  readonly tickMs: () => number
}

export type OpenapiDocument = {
  readonly json: GatewayDocument
  /** Creates a document from the description. `render` runs again after the description has changed. */
  derive(render: (openapi: JsonObject) => Representation): GatewayDocument
}

/** Caches the OpenAPI documents of upstreams, and builds `/openapi.json` from these documents. */
export type OpenapiDocuments = {
  /**
   * Returns the document for a set of policies. The document is built on request, and built again after the document of
   * an upstream has changed.
   */
  of(policies: DescribedPolicies): OpenapiDocument
  /**
   * Fetches the documents whose next fetch is due. Never rejects. After a failed fetch, the last document of the
   * upstream stays.
   */
  refresh(): Promise<void>
  close(): void
}

type FetchedDocument = OpenapiSource & { readonly digest: string }

/** Deadline for the fetch of one document. Milliseconds. */
const FETCH_TIMEOUT_MS = 5_000
const DOCUMENT_LIMIT_BYTES = 4 * 1024 * 1024
/** The gateway fetches a document again after this time. Milliseconds. */
const REFRESH_MS = 300_000
/**
 * After the first failed fetch, the gateway fetches a document again after this time. Each further failure doubles the
 * time, up to `REFRESH_MS`. Milliseconds.
 */
const RETRY_MS = 5_000

/** The number of failed fetches in a row, and the time of the next fetch on the monotonic clock. */
type Schedule = { readonly failures: number; readonly dueMs: number }

/**
 * Creates the source of `/openapi.json`. The document is built from policies alone until the upstreams have responded.
 * The source fetches the documents of the upstreams again in the background.
 */
export function createOpenapiDocuments(options: OpenapiDocumentsOptions): OpenapiDocuments {
  let cached: ReadonlyMap<string, FetchedDocument> = new Map()
  const schedules = new WeakMap<Upstream, Schedule>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let closed = false

  function refresh(): Promise<void> {
    running ??= fetchDue().finally(() => {
      running = undefined
    })
    return running
  }

  async function fetchDue(): Promise<void> {
    clearTimeout(timer)
    const nowMs = options.tickMs()
    const due = describedOnes().filter((upstream) => dueMsOf(upstream) <= nowMs)
    const documents = await Promise.all(due.map(tryFetch))
    if (closed) return
    const fetched = documents.filter((document) => document !== undefined)
    // Equal documents leave the map unchanged, so that the gateway does not build `/openapi.json` again.
    const changed = fetched.filter((one) => cached.get(one.upstream)?.digest !== one.digest)
    if (changed.length > 0)
      cached = new Map([...cached, ...changed.map((one) => [one.upstream, one] as const)])
    // The active upstreams may have changed during the fetches.
    const nextMs = Math.min(...describedOnes().map(dueMsOf))
    if (nextMs === Number.POSITIVE_INFINITY) return
    timer = setTimeout(refresh, Math.max(0, nextMs - options.tickMs()))
    timer.unref()
  }

  function describedOnes(): readonly Upstream[] {
    return options.upstreams.active.filter(({ openapiPath }) => openapiPath !== undefined)
  }

  /** Returns the time of the next fetch. A new upstream is due immediately. */
  function dueMsOf(upstream: Upstream): number {
    return schedules.get(upstream)?.dueMs ?? Number.NEGATIVE_INFINITY
  }

  function schedule(upstream: Upstream, failures: number): void {
    const delayMs = failures === 0 ? REFRESH_MS : Math.min(REFRESH_MS, RETRY_MS * 2 ** (failures - 1))
    schedules.set(upstream, { failures, dueMs: options.tickMs() + delayMs })
  }

  /** Returns the documents of the upstreams that the active policies can use. */
  function activeOnes(documents: typeof cached): readonly OpenapiSource[] {
    const names = new Set(options.upstreams.active.map(({ name }) => name))
    return [...documents.values()].filter(({ upstream }) => names.has(upstream))
  }

  async function tryFetch(upstream: Upstream): Promise<FetchedDocument | undefined> {
    try {
      const document = { upstream: upstream.name, ...(await fetchDocument(upstream, options.tickMs)) }
      schedule(upstream, 0)
      return document
    } catch (error) {
      schedule(upstream, (schedules.get(upstream)?.failures ?? 0) + 1)
      options.failures.failed(
        {
          event: 'openapi_unavailable',
          fields: { upstream: upstream.name },
          message: cached.has(upstream.name)
            ? 'the OpenAPI document of an upstream could not be fetched: the previous document stays in use'
            : 'the OpenAPI document of an upstream could not be fetched: policies describe its routes',
        },
        error,
      )
      return undefined
    }
  }

  return {
    of(policies) {
      const derive = (render: (openapi: JsonObject) => Representation): GatewayDocument => {
        let written: { readonly by: JsonObject; readonly document: Representation } | undefined
        return () => {
          const description = describe()
          if (written?.by !== description) written = { by: description, document: render(description) }
          return written.document
        }
      }
      let built: { readonly by: typeof cached; readonly description: JsonObject } | undefined
      const describe = (): JsonObject => {
        if (built?.by !== cached) {
          const description = buildOpenapi({ ...options, ...policies, sources: activeOnes(cached) })
          built = { by: cached, description }
        }
        return built.description
      }
      return {
        json: derive((description) => representation('application/json', JSON.stringify(description))),
        derive,
      }
    },
    refresh,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

async function fetchDocument(
  upstream: Upstream,
  tickMs: () => number,
): Promise<Omit<FetchedDocument, 'upstream'>> {
  const { credential } = upstream
  await credential?.pending
  if (credential !== undefined && credential.header === undefined)
    throw new Error('the gateway has no credential for the upstream')
  const target = upstream.targets.findFree()
  if (target === undefined)
    throw new Error('the upstream is not available, or all of its connections are busy')
  const startedMs = tickMs()
  const trial = target.started(startedMs)
  try {
    const { status, body } = await readResponse(target.pool, {
      path: `${upstream.basePath}${upstream.openapiPath ?? ''}`,
      headers: ['accept', 'application/json', ...(credential?.header ?? [])],
      timeoutMs: FETCH_TIMEOUT_MS,
      limitBytes: DOCUMENT_LIMIT_BYTES,
    })
    if (body === undefined) throw new RangeError('the document is larger than 4 MiB')
    if (status !== 200) throw new Error(`the upstream responded with status ${status}`)
    return readDocument(body)
  } finally {
    target.ended(trial)
  }
}

function readDocument(content: Buffer): Omit<FetchedDocument, 'upstream'> {
  const document = toRecord(JSON.parse(content.toString('utf8')))
  if (typeof document['openapi'] !== 'string' || !document['openapi'].startsWith('3.'))
    throw new TypeError('the document is not OpenAPI 3')
  return { document, digest: hash('sha256', content) }
}
