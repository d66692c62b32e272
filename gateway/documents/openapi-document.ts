import { Client, type Dispatcher, request } from 'undici'
import type { Logger } from '../../runtime/logger.ts'
import type { Upstream } from '../upstreams/pool.ts'
import { buildOpenapi, type OpenapiOptions, type OpenapiSource } from './openapi.ts'
import { readObject } from './openapi-components.ts'
import { type OwnDocument, type Representation, representation } from './own-document.ts'

/** What `/openapi.json` is written from, and whom it is completed by. */
export type OpenapiDocumentOptions = Omit<OpenapiOptions, 'sources'> & {
  /** Upstreams; those that describe themselves are asked. */
  readonly upstreams: readonly Upstream[]
  readonly logger: Logger
}

/** The document as it is right now, and what keeps it so. */
export type OpenapiDocument = {
  readonly document: OwnDocument
  /** Asks the upstreams once and rewrites the document. Never fails: what was known of an upstream stays known. */
  refresh(): Promise<void>
  close(): void
}

/** How long an upstream may take to describe itself. Milliseconds. */
const FETCH_TIMEOUT_MS = 5_000
const DOCUMENT_LIMIT_BYTES = 4 * 1024 * 1024
/** An upstream that is away is asked again soon, others now and then. Milliseconds. */
const RETRY_MS = 5_000
const REFRESH_MS = 300_000

/** Keeps `/openapi.json`: generated from policies alone until upstreams have answered, refreshed in the background. */
export function createOpenapiDocument(options: OpenapiDocumentOptions): OpenapiDocument {
  const known = new Map<string, OpenapiSource>()
  const describing = options.upstreams.filter((upstream) => upstream.openapiPath !== undefined)
  let current = write()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function write(): Representation {
    return representation(
      'application/json',
      JSON.stringify(buildOpenapi({ ...options, sources: [...known.values()] })),
    )
  }

  async function refresh(): Promise<void> {
    clearTimeout(timer)
    const answers = await Promise.all(describing.map(ask))
    if (closed) return
    current = write()
    timer = setTimeout(refresh, answers.every((answered) => answered) ? REFRESH_MS : RETRY_MS)
    timer.unref()
  }

  async function ask(upstream: Upstream): Promise<boolean> {
    try {
      known.set(upstream.name, { upstream: upstream.name, document: await fetchDocument(upstream) })
      return true
    } catch (error) {
      options.logger.warn(
        { event: 'openapi_unavailable', upstream: upstream.name, err: error },
        known.has(upstream.name)
          ? 'an upstream does not describe itself now; its last description is kept'
          : 'an upstream does not describe itself; its routes are described from their policies',
      )
      return false
    }
  }

  return {
    document: () => current,
    refresh,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

async function fetchDocument(upstream: Upstream): Promise<OpenapiSource['document']> {
  const target = upstream.targets.choose()
  if (target === undefined) throw new Error('the upstream is away')
  const client = new Client(target.origin, { connect: target.connectPlainly, allowH2: false })
  try {
    return await fetchDocumentBy(client, `${target.origin}${upstream.basePath}${upstream.openapiPath ?? ''}`)
  } finally {
    await client.destroy()
  }
}

async function fetchDocumentBy(dispatcher: Dispatcher, url: string): Promise<OpenapiSource['document']> {
  const { statusCode, body } = await request(url, {
    dispatcher,
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
  })
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > DOCUMENT_LIMIT_BYTES) throw new RangeError('the document is larger than 4 MiB')
    chunks.push(chunk)
  }
  if (statusCode !== 200) throw new Error(`the upstream answered with status ${statusCode}`)
  const document = readObject(JSON.parse(Buffer.concat(chunks, bytes).toString('utf8')))
  if (typeof document['openapi'] !== 'string' || !document['openapi'].startsWith('3.'))
    throw new TypeError('this is not an OpenAPI 3 document')
  return document
}
