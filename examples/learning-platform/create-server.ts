import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Family } from './families/family.ts'
import { explainError } from './http/explain-error.ts'
import { handleErrors } from './http/handle-errors.ts'
import { handleMalformedRequest } from './http/handle-malformed-request.ts'
import { type Gateway, identifyCallers } from './http/identify-callers.ts'
import { logRequests } from './http/log-requests.ts'
import { readJsonOnly } from './http/read-json-only.ts'
import { sendProblem } from './http/send-problem.ts'
import { buildOpenapi, type DocumentedRoute } from './routes/build-openapi.ts'
import { addCollectionReads } from './routes/collection-reads.ts'
import { addCollectionWrites } from './routes/collection-writes.ts'
import { addHealthRoute } from './routes/health-route.ts'
import { addMethodNotAllowed, allowEveryMethod } from './routes/method-not-allowed.ts'
import { addOpenapiRoute } from './routes/openapi-route.ts'
import { addReportRoute } from './routes/report-route.ts'
import { addSingletonRoutes } from './routes/singleton-routes.ts'
import { openCollection } from './store/collection.ts'
import { openLinks } from './store/links.ts'

const BODY_LIMIT_BYTES = 1024 * 1024 // a storage object has at most 44 KB, and other resources are smaller
const REQUEST_TIMEOUT_MS = 30_000 // a slow body occupies a connection for at most this time

/** Creates the HTTP server for an open database. The server does not listen yet. */
export function createServer(options: {
  readonly database: DatabaseSync
  readonly families: readonly Family[]
  readonly nowIso: () => string
  readonly logger: FastifyBaseLogger | undefined
  readonly logLevel: string
  /** The gateway whose assertions identify callers. If undefined, the service trusts the plain headers. */
  readonly gateway: Gateway | undefined
}): FastifyInstance {
  const { database, families, nowIso } = options
  const app: FastifyInstance = Fastify({
    ...(options.logger === undefined
      ? { logger: { level: options.logLevel } }
      : { loggerInstance: options.logger }),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && /^[\w-]{1,64}$/.test(given) ? given : randomUUID()
    },
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: true,
        allErrors: false,
        strict: true,
        allowUnionTypes: true,
        keywords: ['x-references'],
      },
    },
    frameworkErrors: (error, _request, reply) => {
      sendProblem(reply, explainError(error))
    },
    clientErrorHandler: handleMalformedRequest,
  })
  allowEveryMethod(app)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  readJsonOnly(app)
  handleErrors(app)
  identifyCallers(app, options.gateway)
  logRequests(app)

  const documented: DocumentedRoute[] = []
  const methodsByPath = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (typeof method !== 'string') return
    methodsByPath.set(url, (methodsByPath.get(url) ?? new Set()).add(method))
    if (schema?.operationId !== undefined && method !== 'HEAD') documented.push({ method, url, schema })
  })
  // The routes are in a plugin, so that the hooks above apply to the routes.
  app.register(async (api) => {
    const service = { database, nowIso, links: openLinks(database, namesOfCollections(families)) }
    for (const family of families) {
      if (family.kind === 'singleton') addSingletonRoutes(api, service, family)
      else if (family.kind === 'report') addReportRoute(api, service, family)
      else {
        const collection = openCollection(database, family)
        addCollectionReads(api, family, collection)
        if (family.writable) addCollectionWrites(api, service, family, collection)
      }
    }
    addHealthRoute(api, service)
    const tags = families.map(({ name, about }) => ({ name, description: about }))
    addOpenapiRoute(api, () =>
      buildOpenapi(documented, [...tags, { name: 'service', description: 'About itself.' }]),
    )
    addMethodNotAllowed(api, methodsByPath)
  })
  return app
}

function namesOfCollections(families: readonly Family[]): readonly string[] {
  return families.filter(({ kind }) => kind === 'collection').map(({ name }) => name)
}
