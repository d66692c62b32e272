import type { IncomingHttpHeaders } from 'node:http'
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from '../logging/logger.ts'
import type { ManagementEndpoint, ManagementRequest, ManagementResponse } from '../ops/management-endpoint.ts'
import {
  accessLink,
  type ConsoleAccess,
  readNextPath,
  SIGN_IN_PATH,
  SIGN_OUT_PATH,
  signInForm,
} from './console-access.ts'
import { type ConsoleLayout, type ConsoleLink, type ConsoleSearch, renderConsole } from './console-layout.ts'
import { type ConsoleForm, type ConsolePage, FORM_TOKEN } from './console-page.ts'
import { CONSOLE_SCRIPT_SOURCE } from './console-script.ts'
import type { ConsoleSession } from './console-sessions.ts'
import { CONSOLE_STYLE_SOURCE } from './console-style.ts'
import { countText } from './count-text.ts'
import { type Html, html } from './html.ts'
import { isOwnOrigin } from './own-origin.ts'
import type { Form } from './read-form.ts'
import { securityHeaders } from './security-headers.ts'

/** Maximum number of open pages with live updates. */
export const MAX_STREAMS = 16
/**
 * Maximum number of live updates of which the sender is unknown: programs, and pages of other origins, whose browser
 * sends neither `Origin` nor `Sec-Fetch-Site` to an HTTP address.
 */
const MAX_UNKNOWN_STREAMS = 8
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
  forms = [],
  access,
  search,
  otherConsole,
  logger,
}: {
  /** See {@link ConsoleLayout}. */
  readonly name: string
  readonly version: string
  readonly pages: readonly ConsolePage[]
  readonly forms?: readonly ConsoleForm[]
  /** How operators sign in. Default: the console has no private pages and no forms. */
  readonly access?: ConsoleAccess
  readonly search?: ConsoleSearch
  /** See {@link ConsoleLayout}. */
  readonly otherConsole?: ConsoleLink | undefined
  readonly logger: Logger
}): Console {
  const streams = new Set<EventStream>()
  let closed = false
  const layout: ConsoleLayout = {
    name,
    version,
    links: pages.filter(({ parent }) => parent === undefined),
    search,
    otherConsole,
  }

  async function respond(page: ConsolePage, request: ManagementRequest): Promise<ManagementResponse> {
    const { query, headers } = request
    if (isForeign(headers))
      return textResponse(403, 'This page rejects requests from pages of other origins.')
    const session = access?.sessions?.find(headers)
    const isPrivate = page.isPrivate === true
    const format = query.get('format')
    if (isPrivate && session === undefined) {
      if (format === 'json') return { status: 401, body: SIGN_IN_JSON, headers: NO_SNIFF }
      return access?.sessions === undefined ? closedPage() : signInPage(401, `${page.path}?${query}`)
    }
    if (format === 'events' && !isStatic(page)) return openStream(page, request)
    const data = await page.data(query)
    if (format === 'json')
      return { status: data === undefined ? 404 : 200, body: data ?? NOT_FOUND_JSON, headers: NO_SNIFF }
    if (data === undefined) return notFoundPage(session)
    return {
      status: 200,
      ...htmlResponse(formTargets(page, session), renderPage(page, data, query, session)),
    }
  }

  function renderPage(
    page: ConsolePage,
    data: unknown,
    query: URLSearchParams,
    session: ConsoleSession | undefined,
  ): string {
    const asJson = new URLSearchParams(query)
    asJson.set('format', 'json')
    const notice = session?.notice
    if (session !== undefined) session.notice = undefined
    return renderConsole(layout, {
      heading: page.heading?.(data) ?? page.title,
      current: page.parent ?? page.path,
      body: page.render(data, query, session),
      jsonHref: `${page.path}?${asJson}`,
      isStatic: isStatic(page),
      notice,
      access: access && accessLink(access, session),
    })
  }

  /** Renders a page that is not in the list of pages. */
  function otherPage(
    status: number,
    heading: string,
    body: Html,
    session?: ConsoleSession,
  ): ManagementResponse {
    const markup = renderConsole(layout, {
      heading,
      current: undefined,
      body,
      isStatic: true,
      access: access && session && accessLink(access, session),
    })
    return { status, ...htmlResponse(formTargets(undefined, session), markup) }
  }

  function signInPage(status: number, next: string, fault?: string): ManagementResponse {
    return otherPage(status, 'Sign in', signInForm(next, fault))
  }

  function closedPage(): ManagementResponse {
    return otherPage(
      403,
      'Sign-in is not configured',
      html`<p>This page is only for signed-in operators. To open it, set <code>${access?.setting ?? ''}</code> in the configuration of the service to a file with a token, and restart the service.</p>`,
    )
  }

  /** Runs a form of a private page. */
  async function submit(one: ConsoleForm, request: ManagementRequest): Promise<ManagementResponse> {
    const form = request.body as Form
    const session = access?.sessions?.find(request.headers)
    if (access?.sessions === undefined) return closedPage()
    if (session === undefined) return signInPage(401, '/')
    if (!access.sessions.verifyForm(session, form.get(FORM_TOKEN)))
      return otherPage(403, 'This form is not valid', STALE_FORM, session)
    const { location, notice } = await one.submit(form, session, request)
    session.notice = notice
    return redirect(location)
  }

  async function signIn(request: ManagementRequest): Promise<ManagementResponse> {
    if (access?.sessions === undefined) return closedPage()
    const form = request.body as Form
    const next = form.get('next') ?? '/'
    const result = await access.sessions.signIn(form.get('token') ?? '', request)
    if ('cookie' in result) return redirect(readNextPath(next, pages), { 'set-cookie': result.cookie })
    if (result.rejected === 'wrong') return signInPage(401, next, 'This token is not correct.')
    const seconds = result.retryAfterSeconds
    const page = signInPage(429, next, `Too many attempts. Try again in ${countText(seconds, 'second')}.`)
    return { ...page, headers: { ...page.headers, 'retry-after': String(seconds) } }
  }

  function signOut(request: ManagementRequest): ManagementResponse {
    const session = access?.sessions?.find(request.headers)
    if (access?.sessions === undefined || session === undefined) return redirect('/')
    if (!access.sessions.verifyForm(session, (request.body as Form).get(FORM_TOKEN)))
      return otherPage(403, 'This form is not valid', STALE_FORM, session)
    return redirect('/', { 'set-cookie': access.sessions.signOut(request) })
  }

  function openStream(page: ConsolePage, { query, headers, method }: ManagementRequest): ManagementResponse {
    // An image of another page does not send this header. A script of another page can.
    if (headers.accept?.includes('text/event-stream') !== true)
      return textResponse(406, 'Send the header Accept: text/event-stream.')
    if (method === 'HEAD') return { status: 200, body: '', type: 'text/event-stream' }
    if (closed || streams.size >= (isOwnPage(headers) ? MAX_STREAMS : MAX_UNKNOWN_STREAMS))
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

  /** Sends the content of a page to all browsers that show the page with the same query. */
  async function send(showing: readonly EventStream[]): Promise<void> {
    const [{ page, query } = {}] = showing
    if (page === undefined || query === undefined) return
    try {
      const data = await page.data(query)
      const markup = data === undefined ? '' : page.render(data, query).toString()
      const event = `event: page\ndata: ${JSON.stringify(markup)}\n\n`
      for (const stream of showing) sendTo(stream, markup, event)
    } catch (error) {
      logger.error({ event: 'console_error', page: page.path, err: error }, 'a page of the console failed')
      for (const { output } of showing) output.destroy()
    }
  }

  function sendTo(stream: EventStream, markup: string, event: string): void {
    const { output } = stream
    if (output.writableEnded || output.destroyed) return
    if (output.writableLength + output.readableLength > BACKLOG_BYTES) return
    const nowMs = performance.now()
    if (markup !== stream.sent) output.write(event)
    else if (nowMs - stream.sentAtMs >= SILENCE_MS) output.write(': no change\n\n')
    else return
    stream.sent = markup
    stream.sentAtMs = nowMs
  }

  function formTargets(page?: ConsolePage, session?: ConsoleSession): readonly string[] {
    const own =
      search === undefined && session === undefined && access?.sessions === undefined ? [] : ["'self'"]
    return [...new Set([...own, ...(page?.formTargets ?? [])])]
  }

  function notFoundPage(session?: ConsoleSession): ManagementResponse {
    const body = html`<p>This page does not exist, or its subject no longer exists. <a href="/">Overview</a></p>`
    return otherPage(404, 'Page not found', body, session)
  }

  function accessEndpoints(): readonly ManagementEndpoint[] {
    return [
      {
        method: 'GET',
        path: SIGN_IN_PATH,
        respond: () => (access?.sessions === undefined ? closedPage() : signInPage(200, '/')),
      },
      { method: 'POST', path: SIGN_IN_PATH, reads: 'form', respond: signIn },
      { method: 'POST', path: SIGN_OUT_PATH, reads: 'form', respond: signOut },
    ]
  }

  return {
    endpoints: [
      ...pages.map(
        (page): ManagementEndpoint => ({
          method: 'GET',
          path: page.path,
          respond: (request) => respond(page, request),
        }),
      ),
      ...forms.map(
        (one): ManagementEndpoint => ({
          method: 'POST',
          path: one.path,
          reads: 'form',
          respond: (request) => submit(one, request),
        }),
      ),
      ...(access === undefined ? [] : accessEndpoints()),
    ],
    notFound: ({ headers }) => (headers.accept?.includes('text/html') === true ? notFoundPage() : undefined),
    get isWatched() {
      return streams.size > 0
    },
    async publish() {
      const pages = Map.groupBy(streams, ({ page, query }) => `${page.path}?${query}`)
      for (const showing of pages.values()) {
        await send(showing)
        await nextTurn() // requests run between the pages
      }
    },
    close() {
      closed = true
      for (const { output } of streams) output.end()
    },
  }
}

const NO_SNIFF = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' }
const STALE_FORM = html`<p>The form is not from a page of this session. Go back, reload the page, and send the form again.</p>`
const SIGN_IN_JSON = { error: 'access_denied', error_description: 'Sign in at /console/sign-in first.' }

function isStatic({ isStatic, isPrivate }: ConsolePage): boolean {
  return isStatic === true || isPrivate === true
}

function redirect(location: string, headers: Readonly<Record<string, string>> = {}): ManagementResponse {
  return { status: 303, body: '', type: 'text/plain', headers: { ...headers, location } }
}

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
    // With `no-referrer`, browsers send `Origin: null` with forms.
    headers: {
      ...headers,
      'referrer-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    },
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
  if (origin !== undefined && !isOwnOrigin(origin, host)) return true
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin' || site === 'none') return false
  return headers['sec-fetch-mode'] !== 'navigate' || headers['sec-fetch-dest'] !== 'document'
}

/** Returns whether the headers prove that a page of the console sent the request. Scripts cannot set these headers. */
function isOwnPage({ host, referer = '', ...headers }: IncomingHttpHeaders): boolean {
  if (headers['sec-fetch-site'] === 'same-origin') return true
  return URL.canParse(referer) && isOwnOrigin(new URL(referer).origin, host)
}
