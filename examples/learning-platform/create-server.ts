import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  LogController,
} from 'fastify'
import type { Family } from './families/family.ts'
import { answerBrokenRequest } from './http/answer-broken-request.ts'
import { readCaller } from './http/caller.ts'
import { explainError } from './http/explain-error.ts'
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

const BODY_LIMIT_BYTES = 1024 * 1024 // a storage object is 44 KB at most; everything else is smaller
const REQUEST_TIMEOUT_MS = 30_000 // a body that trickles in must not hold a connection for ever

/** Builds the HTTP server over an open database. It does not listen yet. */
export function createServer(options: {
  readonly database: DatabaseSync
  readonly families: readonly Family[]
  readonly nowIso: () => string
  readonly logger: FastifyBaseLogger | undefined
  readonly logLevel: string
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
    clientErrorHandler: answerBrokenRequest,
  })
  allowEveryMethod(app)
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  readJsonOnly(app)
  answerErrors(app)
  logWrites(app)

  const documented: DocumentedRoute[] = []
  const methodsByPath = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (typeof method !== 'string') return
    methodsByPath.set(url, (methodsByPath.get(url) ?? new Set()).add(method))
    if (schema?.operationId !== undefined && method !== 'HEAD') documented.push({ method, url, schema })
  })
  // Routes belong in a plugin: the hooks above are in force when it loads.
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

/** JSON bodies alone, read by Fastify's own parser that refuses `__proto__`; merge patches only where they belong. */
function readJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'string' },
    (request, body, done) => {
      const isMergePatch = request.headers['content-type']
        ?.toLowerCase()
        .startsWith('application/merge-patch')
      if (isMergePatch === true && request.method !== 'PATCH')
        return done(Object.assign(new Error('a merge patch is for PATCH'), { statusCode: 415 }))
      return parse(request, body.toString(), done)
    },
  )
}

function answerErrors(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-cache' })
    // Before the body is looked at: where nothing is, nothing can be wrong with it.
    if (!request.is404) return undefined
    return sendProblem(reply, { code: 'not_found', description: 'There is nothing at this address.' })
  })
  app.setNotFoundHandler((_request, reply) => {
    sendProblem(reply, { code: 'not_found', description: 'There is nothing at this address.' })
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const answer = explainError(error)
    if (answer.code === 'server_error' || answer.code === 'temporarily_unavailable') request.log.error(error)
    return sendProblem(reply, answer)
  })
}

/** One line for each write: who, through which client, with which scopes. Reads are told at level debug. */
function logWrites(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { subject, clientId, scopes } = readCaller(request.headers) ?? {}
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    request.log[isRead ? 'debug' : 'info'](
      { method: request.method, path: request.url, status: reply.statusCode, subject, clientId, scopes },
      'request',
    )
  })
}
