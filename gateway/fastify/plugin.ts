import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { logConfigWarnings } from '../../platform/config/read-config.ts'
import { createLogger } from '../../platform/logging/logger.ts'
import type { Rejection } from '../../policy-engine/decide/rejection.ts'
import { openGateway } from '../app.ts'
import { readGatewayConfig } from '../config/read-gateway-config.ts'
import { toHeaderForms } from '../pipeline/header-forms.ts'
import type { ShapedContext } from '../pipeline/request-context.ts'
import { shapeResponse } from '../pipeline/shape-response.ts'
import type { ScopegateOptions, ScopegateRequest } from './options.ts'
import { createStrictReader } from './read-strictly.ts'

export type { Scopegate, ScopegateCaller, ScopegateOptions, ScopegateRequest } from './options.ts'

type Exchange = { readonly request: FastifyRequest; readonly done: () => void }

const READ_DIFFERENTLY: Rejection = Object.freeze({
  rejected: 'request_malformed',
  detail: 'The path is ambiguous: this service and its policies read different paths.',
})
const NO_UPGRADES: Rejection = Object.freeze({
  rejected: 'request_malformed',
  detail: 'This service does not accept upgrades to another protocol.',
})

/**
 * The Fastify plugin. Enforces the policies before each handler of the service (`onRequest`).
 * @throws {BootError} for an invalid configuration or invalid policies. The message lists every problem.
 */
async function scopegate(fastify: FastifyInstance, options: ScopegateOptions): Promise<void> {
  requireSupportedInstance(fastify)
  requireConfigDir(options)
  const { config, warnings } = readGatewayConfig({ ...options, env: process.env })
  const logger = createLogger({ ...config.log, service: 'gateway' }, options.logTo ?? process.stdout)
  logConfigWarnings(logger, warnings)
  const exchanges = new WeakMap<IncomingMessage, Exchange>()
  const allowed = new WeakMap<FastifyRequest, ShapedContext>()
  const isReadStrictly = createStrictReader()

  function handOver(context: ShapedContext): Rejection | undefined {
    const exchange = exchanges.get(context.request)
    if (exchange === undefined) throw new Error('a request that did not come from Fastify')
    const { request, done } = exchange
    const { path, query, headers } = context.canonical
    // Without a listener, Node.js ignores the header `Upgrade`.
    if (headers.offersUpgrade && fastify.server.listenerCount('upgrade') > 0) return NO_UPGRADES
    const { url: pattern } = request.routeOptions
    if (pattern !== undefined && !isReadStrictly({ pattern, params: request.params }, path))
      return READ_DIFFERENTLY
    Object.assign(request.raw, toHeaderForms(headersFor(context)))
    request.raw.url = path + query
    request.setDecorator('scopegate', describe(context))
    allowed.set(request, context)
    done()
    return undefined
  }

  const { serving, reloader, auditLog, stopReloading } = await openGateway({ config, logger, handOver })

  fastify.decorateRequest('scopegate', undefined)
  fastify.decorate('scopegate', {
    metrics: () => serving.registry.metrics(),
    checks: () => [...reloader.checks(), ...serving.checks()],
    reload: async () => (await reloader.reload('endpoint')).result,
  })
  fastify.addHook('onRequest', function scopegate(request, reply, done) {
    exchanges.set(request.raw, { request, done })
    if (isUpgrade(request.raw)) closeAfter(request.raw, reply.raw)
    serving.handle(request.raw, reply.raw)
  })
  fastify.addHook('onSend', async (request, reply, payload) => {
    const context = allowed.get(request)
    if (context === undefined) return payload
    const body = isUnusedResponse(payload) ? takeBody(reply, payload) : payload
    shapeReply(reply, context)
    return body
  })
  fastify.addHook('onClose', async () => {
    stopReloading()
    await serving.close({ how: 'immediate' })
    await auditLog.close()
  })
}

/**
 * An encapsulated instance does not receive all requests, and would leave other routes without protection. A second
 * registration would fail after the start of a second gateway.
 */
function requireSupportedInstance(fastify: FastifyInstance): void {
  if (Object.getPrototypeOf(fastify) !== Object.prototype)
    throw new Error('scopegate/fastify: register the plugin on the root instance of Fastify.')
  if (fastify.hasDecorator('scopegate'))
    throw new Error('scopegate/fastify: the plugin is already registered. Register it only once.')
  if ('http2' in fastify.initialConfig && fastify.initialConfig.http2 === true)
    throw new Error(
      'scopegate/fastify: the plugin supports HTTP/1.1 only. Remove the option http2 of Fastify.',
    )
}

function requireConfigDir({ configDir }: Partial<ScopegateOptions>): void {
  if (typeof configDir !== 'string')
    throw new Error('scopegate/fastify: set the option configDir to the folder with gateway.yaml.')
}

/** Returns whether Node.js gave the connection of the request to a listener for `upgrade`. */
function isUpgrade(request: IncomingMessage & { readonly upgrade?: boolean }): boolean {
  return request.upgrade === true
}

/** Closes the connection of a handshake after the denial. Node.js neither reads nor closes such a connection. */
function closeAfter({ socket }: IncomingMessage, response: ServerResponse): void {
  response.shouldKeepAlive = false
  response.once('finish', () => socket.destroySoon())
}

/** The headers that the gateway would forward, and the headers with which Fastify reads the body. */
function headersFor({ upstreamHeaders, request }: ShapedContext): string[] {
  const headers = [...upstreamHeaders]
  for (const name of ['host', 'transfer-encoding', 'content-length'] as const) {
    const value = request.headers[name]
    // Names have even indexes, and values have odd indexes.
    const isPresent = headers.some((other, index) => index % 2 === 0 && other === name)
    if (value !== undefined && !isPresent) headers.push(name, value)
  }
  return headers
}

function describe({ route, caller, requestId, clientAddress }: ShapedContext): ScopegateRequest {
  return Object.freeze({
    route: route.name,
    requestId,
    clientAddress,
    scopes: Object.freeze([...(caller?.scopes ?? [])]),
    caller:
      caller &&
      Object.freeze({
        subject: caller.subject,
        clientId: caller.clientId,
        issuer: caller.issuer,
        audience: caller.audience,
        expiresAtSeconds: caller.expiresAtSeconds,
        claims: Object.freeze(Object.fromEntries(caller.claims)),
      }),
  })
}

/** Returns whether a handler returned a `Response` of any implementation of the Fetch API. Fastify rejects a used body. */
function isUnusedResponse(payload: unknown): payload is Response {
  return Object.prototype.toString.call(payload) === '[object Response]' && !(payload as Response).bodyUsed
}

/** Applies the status and the headers of a `Response` to the reply. Fastify would apply them after this hook. */
function takeBody(reply: FastifyReply, response: Response): Response['body'] {
  reply.code(response.status)
  for (const [name, value] of response.headers) reply.header(name, value)
  return response.body
}

/** Applies the response rules of the gateway to a response of the service. */
function shapeReply(reply: FastifyReply, context: ShapedContext): void {
  const headers: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value : String(value)
    // After removeHeader('transfer-encoding'), Node.js would send a stream without a length and without chunks.
    if (name === 'transfer-encoding') continue
    reply.removeHeader(name)
    reply.raw.removeHeader(name)
  }
  const shaped = shapeResponse(context, reply.statusCode, headers)
  if (headers['connection'] === 'close') shaped.push('connection', 'close')
  const { headersDistinct } = toHeaderForms(shaped)
  for (const [name, values = []] of Object.entries(headersDistinct))
    reply.header(name, values.length === 1 ? values[0] : values)
}

/** Fastify reads these symbols. Without the first one, the hooks would apply only inside the plugin. */
export default Object.assign(scopegate, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'scopegate',
  [Symbol.for('plugin-meta')]: { name: 'scopegate', fastify: '5.x' },
})
