import Fastify from 'fastify'
import type { Logger } from '../logging/logger.ts'
import { NO_SCHEMA_COMPILERS } from '../net/no-schema-compilers.ts'
import { explainListenError } from '../process/listen-error.ts'
import {
  BODY_LIMIT_BYTES,
  type ManagementEndpoint,
  type ManagementRequest,
  type ManagementResponse,
  mountEndpoints,
  sendResponse,
  toManagementRequest,
} from './management-endpoint.ts'
import {
  chooseMetricsFormat,
  formatMetrics,
  METRICS_CONTENT_TYPES,
  type MetricsJson,
} from './metrics-format.ts'
import { createOwnHost } from './own-host.ts'

/**
 * One check of `/readyz`. With `ok: false`, the service is not ready. With `degraded: true`, the service stays ready,
 * and `?verbose` marks the check with `[!]`.
 */
export type ReadinessCheck = {
  readonly name: string
  readonly ok: boolean
  readonly degraded?: boolean
  readonly detail?: string
}

/**
 * Returns the check of an optional component. With a problem, the service is degraded but stays ready.
 * @param problem description of the problem; undefined: no problem.
 */
export function optionalCheck(name: string, problem: string | undefined): ReadinessCheck {
  return problem === undefined ? { name, ok: true } : { name, ok: true, degraded: true, detail: problem }
}

/** Options for `startOpsServer()`. Port 0 selects a free port. */
export type OpsServerOptions = {
  readonly host: string
  readonly port: number
  /** The setting of `port`, for error messages. Default: `management.port`. */
  readonly portSetting?: string
  /** Accepted host names, in addition to IP addresses, `localhost` and `host`. */
  readonly names?: readonly string[] | undefined
  readonly service: string
  readonly version: string
  /** Runs on every `/metrics`. */
  readonly metrics: () => Promise<MetricsJson>
  /** Runs on every `/readyz`. An empty list means ready. */
  readonly checks: () => readonly ReadinessCheck[] | Promise<readonly ReadinessCheck[]>
  readonly endpoints?: readonly ManagementEndpoint[] | undefined
  /** Returns the 404 response for a browser. Default and undefined: the response is JSON. */
  readonly notFound?: ((request: ManagementRequest) => ManagementResponse | undefined) | undefined
  readonly logger: Logger
}

export type OpsServer = { readonly url: string; close(): Promise<void> }

/**
 * Starts the management server, which listens separately from the public port. It accepts requests only for IP
 * addresses, `localhost`, `host` and `names`.
 * - `/livez`: the event loop runs.
 * - `/readyz`: 200 or 503. `?verbose` lists the checks.
 * - `/metrics`: Prometheus text, or OpenMetrics if `Accept` prefers it.
 * - `/version`, and the service's own endpoints.
 * @throws {BootError} when the server cannot listen on the address.
 */
export async function startOpsServer(options: OpsServerOptions): Promise<OpsServer> {
  const { endpoints = [] } = options
  const app = Fastify({
    logger: false,
    schemaController: NO_SCHEMA_COMPILERS,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: 10_000,
    connectionTimeout: 30_000,
    forceCloseConnections: true,
  })

  const known = ['/livez', '/readyz', '/metrics', ...new Set(endpoints.map(({ path }) => path))]
  const isOwnHost = createOwnHost({ host: options.host, names: options.names })
  app.addHook('onRequest', async (request, reply) => {
    // Browsers always send `Host`. HTTP/1.0 probes can omit it.
    const { host } = request.headers
    if (host === undefined || isOwnHost(host)) return
    return reply.code(421).send(MISDIRECTED)
  })

  app.setNotFoundHandler((request, reply) => {
    const response = options.notFound?.(toManagementRequest(request, undefined))
    if (response !== undefined) return sendResponse(reply, response)
    return reply
      .code(404)
      .send({ error: 'not_found', error_description: `Available paths: ${known.join(', ')} and /version.` })
  })
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const { statusCode = 500 } = error
    // The client's request is invalid, so this is not a failure of the server.
    if (statusCode < 500)
      return reply.code(statusCode).send({
        error: 'invalid_request',
        error_description: statusCode === 413 ? tooLarge(request.routeOptions.bodyLimit) : UNREADABLE,
      })
    options.logger.error({ event: 'management_error', err: error }, 'a request on the management port failed')
    return reply.code(500).send({ error: 'server_error', error_description: 'Internal error. See the log.' })
  })

  mountEndpoints(app, endpoints)
  app.get('/livez', (_request, reply) => reply.type('text/plain').send('ok\n'))

  app.get<{ Querystring: Record<string, string> }>('/readyz', async (request, reply) => {
    const checks = await options.checks()
    const ready = checks.every((check) => check.ok)
    const degraded = checks.some((check) => check.degraded === true)
    const summary = ready ? (degraded ? 'ok (degraded)\n' : 'ok\n') : 'not ready\n'
    reply.code(ready ? 200 : 503).type('text/plain')
    return 'verbose' in request.query ? checks.map(formatCheck).join('') + summary : summary
  })

  app.get('/metrics', async (request, reply) => {
    const format = chooseMetricsFormat(request.headers.accept)
    reply.type(METRICS_CONTENT_TYPES[format]).header('vary', 'accept')
    return formatMetrics(await options.metrics(), format)
  })

  app.get('/version', () => ({ service: options.service, version: options.version, node: process.version }))

  try {
    const url = await app.listen({ host: options.host, port: options.port })
    return { url, close: () => app.close() }
  } catch (error) {
    await app.close()
    throw explainListenError(error, {
      service: `${options.service} (management)`,
      host: options.host,
      port: options.port,
      setting: options.portSetting ?? 'management.port',
    })
  }
}

const tooLarge = (limitBytes = BODY_LIMIT_BYTES) => `The body must have at most ${limitBytes} bytes.`
const UNREADABLE = 'The headers or the body of the request are not valid.'

/** RFC 9110 section 15.5.20. */
const MISDIRECTED = {
  error: 'misdirected_request',
  error_description:
    'The management port accepts requests for IP addresses, localhost and the names in management.names.',
}

function formatCheck(check: ReadinessCheck): string {
  const mark = check.ok ? (check.degraded === true ? '!' : '+') : '-'
  return `[${mark}] ${check.name}${check.detail === undefined ? '' : `: ${check.detail}`}\n`
}
