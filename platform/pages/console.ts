import type { IncomingHttpHeaders } from 'node:http'
import { PassThrough } from 'node:stream'
import type { Logger } from '../logging/logger.ts'
import type { ManagementEndpoint, ManagementRequest, ManagementResponse } from '../ops/management-endpoint.ts'
import { type ConsoleLayout, type ConsoleSearch, renderConsole } from './console-layout.ts'
import type { ConsolePage } from './console-page.ts'
import { CONSOLE_SCRIPT_SOURCE } from './console-script.ts'
import { CONSOLE_STYLE_SOURCE } from './console-style.ts'
import { html } from './html.ts'
import { securityHeaders } from './security-headers.ts'

/** Maximum number of open pages with live updates. */
export const MAX_STREAMS = 16
/** Time without an event after which a stream sends a comment. The management port closes silent connections. */
const SILENCE_MS = 10_000
/** A stream whose client has not read this much gets no further events until the client reads. Bytes. */
const BACKLOG_BYTES = 1_048_576

export type Console = {
  readonly endpoints: readonly ManagementEndpoint[]
  /** Returns a 404 page for a browser. undefined for other clients. */
  notFound(request: ManagementRequest): ManagementResponse | undefined
  /** Whether a page with live updates is open. */
  readonly isWatched: boolean
  /** Sends each open page its new content, if the content changed. Never rejects. */
  publish(): Promise<void>
  /** Ends all live updates. Later requests for live updates get 503. */
  close(): void
}

type EventStream = {
  readonly page: ConsolePage
  readonly query: URLSearchParams
  readonly output: PassThrough
  sent: string
  sentAtMs: number
}

/** Creates the endpoints of a console from its pages. */
export function createConsole({
  name,
  version,
  pages,
  search,
  logger,
}: {
  /** See {@link ConsoleLayout}. */
  readonly name: string
  readonly version: string
  readonly pages: readonly ConsolePage[]
  readonly search?: ConsoleSearch
  readonly logger: Logger
}): Console {
  const streams = new Set<EventStream>()
  let closed = false
  const layout: ConsoleLayout = {
    name,
    version,
    links: pages.filter(({ parent }) => parent === undefined),
    search,
  }

  async function respond(page: ConsolePage, request: ManagementRequest): Promise<ManagementResponse> {
    const { query, headers } = request
    if (isForeign(headers))
      return textResponse(403, 'This page rejects requests from pages of other origins.')
    const format = query.get('format')
    if (format === 'events' && page.isStatic !== true) return openStream(page, request)
    const data = await page.data(query)
    if (format === 'json')
      return { status: data === undefined ? 404 : 200, body: data ?? NOT_FOUND_JSON, headers: NO_SNIFF }
    if (data === undefined) return notFoundPage()
    return { status: 200, ...htmlResponse(formTargets(page), renderPage(page, data, query)) }
  }

  function renderPage(page: ConsolePage, data: unknown, query: URLSearchParams): string {
    const asJson = new URLSearchParams(query)
    asJson.set('format', 'json')
    return renderConsole(layout, {
      heading: page.heading?.(data) ?? page.title,
      current: page.parent ?? page.path,
      body: page.render(data, query),
      jsonHref: `${page.path}?${asJson}`,
      isStatic: page.isStatic === true,
    })
  }

  function openStream(page: ConsolePage, { query, headers, method }: ManagementRequest): ManagementResponse {
    // Only the EventSource of a page and programs send this header. An image of another page does not.
    if (headers.accept?.includes('text/event-stream') !== true)
      return textResponse(406, 'Send the header Accept: text/event-stream.')
    if (method === 'HEAD') return { status: 200, body: '', type: 'text/event-stream' }
    if (closed || streams.size >= MAX_STREAMS)
      return {
        ...textResponse(503, 'Too many open pages, or the service stops.'),
        headers: { 'retry-after': '5' },
      }
    const output = new PassThrough()
    const stream: EventStream = { page, query, output, sent: '', sentAtMs: performance.now() }
    streams.add(stream)
    const unwatch = page.watch?.()
    output.once('close', () => {
      streams.delete(stream)
      unwatch?.()
    })
    output.on('error', () => undefined) // 'close' follows
    output.write('retry: 5000\n\n')
    return { status: 200, body: output, type: 'text/event-stream', headers: NO_SNIFF }
  }

  async function send(stream: EventStream): Promise<void> {
    const { page, query, output } = stream
    if (output.writableLength + output.readableLength > BACKLOG_BYTES) return
    try {
      const data = await page.data(query)
      const markup = data === undefined ? '' : page.render(data, query).toString()
      if (output.writableEnded || output.destroyed) return
      const nowMs = performance.now()
      if (markup !== stream.sent) output.write(`event: page\ndata: ${JSON.stringify(markup)}\n\n`)
      else if (nowMs - stream.sentAtMs >= SILENCE_MS) output.write(': no change\n\n')
      else return
      stream.sent = markup
      stream.sentAtMs = nowMs
    } catch (error) {
      logger.error({ event: 'console_error', page: page.path, err: error }, 'a page of the console failed')
      output.destroy()
    }
  }

  function formTargets(page?: ConsolePage): readonly string[] {
    return [...new Set([...(search === undefined ? [] : ["'self'"]), ...(page?.formTargets ?? [])])]
  }

  function notFoundPage(): ManagementResponse {
    const body = html`<p>This page does not exist, or its subject no longer exists. <a href="/">Overview</a></p>`
    const markup = renderConsole(layout, {
      heading: 'Page not found',
      current: undefined,
      body,
      isStatic: true,
    })
    return { status: 404, ...htmlResponse(formTargets(), markup) }
  }

  return {
    endpoints: pages.map((page) => ({
      method: 'GET',
      path: page.path,
      respond: (request) => respond(page, request),
    })),
    notFound: ({ headers }) => (headers.accept?.includes('text/html') === true ? notFoundPage() : undefined),
    get isWatched() {
      return streams.size > 0
    },
    async publish() {
      await Promise.all([...streams].map(send))
    },
    close() {
      closed = true
      for (const { output } of streams) output.end()
    },
  }
}

const NO_SNIFF = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' }
const NOT_FOUND_JSON = { error: 'not_found', error_description: 'The subject of this page does not exist.' }

function htmlResponse(formTargets: readonly string[], markup: string) {
  const { 'content-type': type, ...headers } = securityHeaders(
    [
      `style-src ${CONSOLE_STYLE_SOURCE}`,
      `script-src ${CONSOLE_SCRIPT_SOURCE}`,
      "connect-src 'self'",
      'img-src data:',
    ],
    formTargets,
  )
  return {
    body: markup,
    type: type ?? 'text/html',
    headers: { ...headers, 'cross-origin-resource-policy': 'same-origin' },
  }
}

function textResponse(status: number, text: string): ManagementResponse {
  return {
    status,
    body: { error: status === 503 ? 'temporarily_unavailable' : 'access_denied', error_description: text },
  }
}

/**
 * Returns whether a page of another origin sent the request. Other pages may link to the console, but may not load it.
 * Browsers send `Sec-Fetch-Site` only to origins such as localhost, and `Origin` to all origins. Fetch Metadata section
 * 2, Fetch section 3.2.
 */
function isForeign({ host, origin, ...headers }: IncomingHttpHeaders): boolean {
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document'
}
