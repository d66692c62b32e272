import { randomBytes } from 'node:crypto'
import Fastify, { type FastifyRequest } from 'fastify'
import { NO_SCHEMA_COMPILERS } from '../../../platform/net/no-schema-compilers.ts'
import { createOwnHost } from '../../../platform/ops/own-host.ts'
import { securityHeaders } from '../../../platform/pages/security-headers.ts'
import { explainListenError } from '../../../platform/process/listen-error.ts'
import { readErrorPage } from '../check/error-page.ts'
import type { PlaygroundInput } from './evaluate.ts'
import { createEvaluator } from './evaluator.ts'
import { BODY_LIMIT_BYTES, MAX_FILES } from './form-limits.ts'
import { renderErrorPage, renderPlayground } from './playground-page.ts'
import { PLAYGROUND_SCRIPT_SOURCE } from './playground-script.ts'
import { PLAYGROUND_STYLE_SOURCE } from './playground-style.ts'

const HOST = '127.0.0.1'
const EVALUATION_LIMIT_MS = 10_000
/** A relative path without hidden files and without `..`. */
const FILE_NAME = /^(?:[^./\\\p{Cc}][^/\\\p{Cc}]{0,99}\/){0,4}[^./\\\p{Cc}][^/\\\p{Cc}]{0,99}\.ya?ml$/iu

const HEADERS = {
  ...securityHeaders(
    [`style-src ${PLAYGROUND_STYLE_SOURCE}`, `script-src ${PLAYGROUND_SCRIPT_SOURCE}`, "connect-src 'self'"],
    ["'self'"],
  ),
  // With `no-referrer`, the browser would send `Origin: null` with the form.
  'referrer-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

export type PlaygroundServer = {
  /** URL of the page, with a random path that other pages and users cannot guess. */
  readonly url: string
  close(): Promise<void>
}

/**
 * Starts the server of the playground on a loopback address.
 * @throws {BootError} when the server cannot listen on the port.
 */
export async function startPlayground(options: {
  /** 0: a free port. */
  readonly port: number
  /** The texts of the page before a change. */
  readonly input: PlaygroundInput
  /** Time for the evaluation of one input. Default: 10 s. */
  readonly limitMs?: number
}): Promise<PlaygroundServer> {
  const { port, input: initial, limitMs = EVALUATION_LIMIT_MS } = options
  const evaluator = createEvaluator(limitMs)
  const app = Fastify({
    logger: false,
    schemaController: NO_SCHEMA_COMPILERS,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: 30_000,
    forceCloseConnections: true,
  })
  const path = `/${randomBytes(16).toString('base64url')}/`
  const isOwnHost = createOwnHost({ host: HOST, names: undefined })
  const show = async (input: PlaygroundInput) => renderPlayground(input, await evaluator.evaluate(input))

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  )
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS)
    if (!isOwnHost(request.headers.host ?? '')) return reply.code(421).send(MISDIRECTED)
    if (isForeign(request)) return reply.code(403).send(FOREIGN)
  })
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(NOT_FOUND))
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const { statusCode = 500 } = error
    return reply
      .code(statusCode)
      .send(statusCode === 413 ? TOO_LARGE : statusCode < 500 ? UNREADABLE : FAILED)
  })
  app.get(path, () => show(initial))
  app.get<{ Params: { code: string } }>(`${path}errors/:code`, (request, reply) => {
    const page = readErrorPage(request.params.code)
    return page === undefined ? reply.callNotFound() : renderErrorPage(page.title, page.text)
  })
  app.post(path, async (request, reply) => {
    const input = readInput(String(request.body))
    return input === undefined ? reply.code(400).send(UNREADABLE) : show(input)
  })

  try {
    const origin = await app.listen({ host: HOST, port })
    return {
      url: `${origin}${path}`,
      async close() {
        await Promise.all([app.close(), evaluator.close()])
      },
    }
  } catch (error) {
    await app.close()
    throw explainListenError(error, { service: 'scopegate playground', host: HOST, port, setting: '--port' })
  }
}

/** Returns whether a page of another origin sent the request. Fetch section 3.2, Fetch Metadata section 2.3. */
function isForeign({ headers, method }: FastifyRequest): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers
  if (origin !== undefined && origin !== `http://${host}`) return true
  return method !== 'GET' && site !== undefined && site !== 'same-origin'
}

function readInput(body: string): PlaygroundInput | undefined {
  const form = new URLSearchParams(body)
  const added = form.has('add') ? form.getAll('new') : []
  const names = [...form.getAll('name'), ...added]
  const texts = [...form.getAll('text'), ...added.map(() => '')]
  const isValid =
    names.length === texts.length &&
    names.length <= MAX_FILES &&
    new Set(names).size === names.length &&
    names.every((name) => FILE_NAME.test(name))
  if (!isValid) return undefined
  const removed = form.get('remove')
  const files = names
    .map((name, at) => ({ name, text: normalizeBreaks(texts[at] ?? '') }))
    .filter(({ name }) => name !== removed)
  return { files, request: normalizeBreaks(form.get('request') ?? '') }
}

/** Forms send CR LF for each line break of a text area. HTML section 4.10.22.4. */
function normalizeBreaks(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

const MISDIRECTED = 'Open the URL that scopegate playground printed.\n'
const NOT_FOUND = MISDIRECTED
const FOREIGN = 'This page rejects requests from pages of other origins.\n'
const TOO_LARGE = `All texts together must have at most ${BODY_LIMIT_BYTES} bytes.\n`
const UNREADABLE = 'The form is not valid. Reload the page.\n'
const FAILED = 'Internal error.\n'
