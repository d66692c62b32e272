import Fastify, { type FastifyInstance } from 'fastify'
import { REVOCATION_STREAM_PATH } from '../oauth/endpoints.ts'
import type { Logger } from '../platform/logging/logger.ts'
import { createRequestIds, readRequestId } from '../platform/logging/request-id.ts'
import { createAddressLimit } from '../platform/net/address-limit.ts'
import { NO_SCHEMA_COMPILERS } from '../platform/net/no-schema-compilers.ts'
import type { Tracing } from '../platform/tracing/tracing.ts'
import { registerAccountPages } from './account-pages/account-pages.ts'
import { registerLogoutPages } from './account-pages/logout-pages.ts'
import type { Accounts } from './accounts/accounts.ts'
import type { AuthorizationServerConfig } from './config.ts'
import { authenticateIntegration } from './endpoints/client-authentication.ts'
import { USERINFO_ENDPOINT } from './endpoints/endpoint-table.ts'
import {
  registerFallbackHandlers,
  replyToBrokenConnection,
  replyToInvalidUrl,
} from './endpoints/fallback-handlers.ts'
import { mountEndpoints } from './endpoints/mount-endpoints.ts'
import { createAuthorizationLimit } from './endpoints/rate-limits.ts'
import type { RevocationStream } from './endpoints/revocation-stream.ts'
import { mountUserinfo } from './endpoints/userinfo.ts'
import type { Engine } from './engine/engine.ts'
import type { EngineEvent } from './engine/engine-events.ts'
import type { LiveSecrets } from './keys/live-secrets.ts'
import { logRequests } from './observe/access-log.ts'
import type { Metrics } from './observe/metrics.ts'
import { observeDurations } from './observe/observe-durations.ts'
import { traceRequests } from './observe/trace-requests.ts'
import { registerInteractionPages } from './pages/interaction-pages.ts'
import type { Look } from './pages/look.ts'
import type { ProviderSignIn } from './pages/provider-pages.ts'
import { createPasswordLinks } from './password-links/password-links.ts'
import { registerSetPasswordPages } from './password-links/set-password-pages.ts'
import { registerAccountSecondFactorPages } from './second-factor/account-second-factor-pages.ts'
import type { SecondFactorSettings } from './second-factor/second-factor-step.ts'
import type { AttemptCounters, Store } from './store/store.ts'

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000

export type HttpServerOptions = {
  readonly config: AuthorizationServerConfig
  readonly look: Look
  readonly engine: Engine
  readonly accounts: Accounts
  readonly store: Pick<Store, 'artifacts'>
  readonly metrics: Metrics
  readonly logger: Logger
  /** Default: no spans. */
  readonly tracing?: Tracing | undefined
  readonly onEvent: (event: EngineEvent) => void
  readonly revocations: RevocationStream
  readonly secrets: LiveSecrets
  /** Counters of sign-ins in the store. Undefined: the pages count in this process. */
  readonly attempts?: AttemptCounters
  /** Sign-in through OpenID providers. Undefined: no providers. */
  readonly providers?: ProviderSignIn | undefined
  /** The second factor of local accounts. If undefined, the password is sufficient. */
  readonly secondFactor?: SecondFactorSettings | undefined
}

/** Creates the HTTP server with every route: endpoints, userinfo, revocation stream, pages. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { config, engine, metrics, logger } = options
  const newRequestId = createRequestIds(Date.now)
  const app = Fastify({
    return503OnClosing: false, // requests on open connections still get a response while the server drains
    logger: false,
    genReqId: (request) => readRequestId(request) ?? newRequestId(),
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'], // only the gateway sends requests to this service
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: replyToBrokenConnection,
    frameworkErrors: (_error, _request, reply) => void replyToInvalidUrl(reply),
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    schemaController: NO_SCHEMA_COMPILERS,
    routerOptions: { caseSensitive: true, ignoreTrailingSlash: false },
  })
  const authorizationLimit = createAuthorizationLimit(config.authorization.rateLimit, () => Date.now())
  logRequests(app, logger)
  const spanOf = traceRequests(app, options.tracing, config.tracing?.trustIncoming ?? 'always')
  observeDurations(app, metrics, spanOf)
  registerFallbackHandlers(app, { logger })
  app.register(async (scope) =>
    mountEndpoints(scope, {
      engine,
      issuer: config.issuer,
      resources: config.resources,
      catalogue: config.catalogue,
      registration: config.registration,
      compat: config.compat,
      presentation: { serviceName: config.name, look: options.look },
      registrationLimit: createAddressLimit(config.registration.rateLimit, () => Date.now()),
      authorizationLimit,
      authenticateIntegration: authenticateIntegration(
        config.integrations,
        options.secrets.clientSecretHashes,
      ),
      count: metrics.countRequest,
      logger,
    }),
  )
  app.register(async (scope) =>
    mountUserinfo(scope, {
      issuer: config.issuer,
      findTokenOwner: engine.findTokenOwner,
      verifyProof: engine.verifyProof,
      findAccount: (id) => options.accounts.find(id),
      count: (result) => metrics.countRequest(USERINFO_ENDPOINT.name, '-', result),
    }),
  )
  // A HEAD request would occupy a listener slot, but the server would never send a byte.
  app.get(REVOCATION_STREAM_PATH, { exposeHeadRoute: false }, options.revocations.handle)
  const pages = {
    serviceName: config.name,
    look: options.look,
    origin: new URL(config.issuer).origin,
    secureCookies: config.issuer.startsWith('https:'),
    cookieKeys: () => options.secrets.current.cookieSecrets,
    logger,
  }
  app.register(async (scope) =>
    registerInteractionPages(scope, {
      ...pages,
      interactions: engine.interactions,
      accounts: options.accounts,
      catalogue: config.catalogue,
      lifetimes: config.lifetimes,
      ...(options.attempts === undefined ? {} : { attempts: options.attempts }),
      localAccounts: config.signIn.local,
      ...(options.providers === undefined ? {} : { providers: options.providers }),
      secondFactor: options.secondFactor,
      nowMs: () => Date.now(),
      onEvent: options.onEvent,
    }),
  )
  app.register(async (scope) =>
    registerAccountPages(scope, {
      ...pages,
      sessions: engine.sessions,
      findClient: engine.findClient,
      accounts: options.accounts,
      store: options.store,
      catalogue: config.catalogue,
      issuer: config.issuer,
      hasSecondFactors: options.secondFactor !== undefined,
      limit: authorizationLimit,
      onEvent: options.onEvent,
    }),
  )
  const { secondFactor } = options
  if (secondFactor !== undefined)
    app.register(async (scope) =>
      registerAccountSecondFactorPages(scope, {
        ...pages,
        ...secondFactor,
        sessions: engine.sessions,
        accounts: options.accounts,
        store: options.store,
        attempts: options.attempts,
        nowMs: () => Date.now(),
        onEvent: options.onEvent,
      }),
    )
  if (config.signIn.local)
    app.register(async (scope) =>
      registerSetPasswordPages(scope, {
        ...pages,
        links: createPasswordLinks({ store: options.store, issuer: config.issuer }),
        accounts: options.accounts,
        store: options.store,
        attempts: options.attempts,
        nowMs: () => Date.now(),
        onEvent: options.onEvent,
      }),
    )
  app.register(async (scope) =>
    registerLogoutPages(scope, {
      ...pages,
      sessions: engine.sessions,
      readIdToken: engine.readIdToken,
      integrations: config.integrations.map(({ clientId, clientName, postLogoutRedirectUris = [] }) => ({
        clientId,
        clientName,
        postLogoutRedirectUris,
      })),
      onEvent: options.onEvent,
    }),
  )
  return app
}
