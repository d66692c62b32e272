import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import { ENDPOINTS, REVOCATION_STREAM_PATH } from '../oauth/endpoints.ts'
import { explainListenError } from '../runtime/listen-error.ts'
import type { Logger } from '../runtime/logger.ts'
import { startOpsServer } from '../runtime/ops-server.ts'
import { readPackageVersion } from '../runtime/package-version.ts'
import { type Accounts, createAccounts } from './accounts/accounts.ts'
import { DEVELOPMENT_ACCOUNTS, settleDevelopmentAccounts } from './accounts/settle-development-accounts.ts'
import type { AuthorizationServerConfig } from './config.ts'
import {
  answerBrokenAddress,
  answerBrokenConnection,
  answerEverythingElse,
} from './endpoints/answer-everything-else.ts'
import { USERINFO_ENDPOINT } from './endpoints/endpoint-table.ts'
import { mountEndpoints } from './endpoints/mount-endpoints.ts'
import { createRefreshGate } from './endpoints/refresh-gate.ts'
import { createRevocationStream, type RevocationStream } from './endpoints/revocation-stream.ts'
import { userinfoHandler } from './endpoints/userinfo.ts'
import { createEngine, type Engine } from './engine/engine.ts'
import type { StaticClient } from './engine/provider-configuration.ts'
import { watchConnections } from './gentle-close.ts'
import { cookieKeys } from './keys/cookie-keys.ts'
import { readSecretFile } from './keys/create-file-once.ts'
import { loadGatewaySecret } from './keys/gateway-secret.ts'
import { loadCookieKeys } from './keys/load-cookie-keys.ts'
import { loadSigningKeys } from './keys/signing-keys.ts'
import { createMetrics, type Metrics } from './observe/metrics.ts'
import { observeEngine } from './observe/observe-engine.ts'
import { registerInteractionPages } from './pages/interaction-pages.ts'
import { pageHeaders } from './pages/page-headers.ts'
import { renderErrorPage } from './pages/render-error-page.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'

const SERVICE = 'authorization-server'
const INTERACTION_SECONDS = 1_800 // half an hour to find a password
const SWEEP_EVERY_MS = 60_000
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 30_000

/** A running authorization server. */
export type RunningAuthorizationServer = {
  readonly url: string
  readonly managementUrl: string
  /** Finishes what is running, ends the revocation streams, closes the store. */
  close(): Promise<void>
}

/**
 * Starts the authorization server: keys, store, engine, endpoints, pages, management port.
 * @throws {BootError} when it cannot start, saying what to do.
 */
export async function startAuthorizationServer(options: {
  readonly config: AuthorizationServerConfig
  readonly logger: Logger
}): Promise<RunningAuthorizationServer> {
  const { config, logger } = options
  let draining = false
  const closing: (() => Promise<void> | void)[] = [] // in the order in which things were opened
  const close = async (): Promise<void> => {
    draining = true
    for (const end of closing.splice(0).reverse()) await end()
  }
  try {
    const secrets = await loadSecrets(config)
    const store = await openStore(config, { nowSeconds, logger })
    closing.push(() => store.close())
    await announceAccounts(config, store, logger)

    const revocations = createRevocationStream({
      clientId: config.gatewayClient.id,
      clientSecret: secrets.gatewaySecret,
    })
    const metrics = createMetrics({ version: readPackageVersion(), listeners: revocations.listeners })
    const accounts = createAccounts({ store: store.accounts, development: config.development, nowSeconds })
    const engine = buildEngine({ config, secrets, store, accounts, metrics, logger, revocations })
    const app = buildApp({ config, secrets, engine, accounts, metrics, logger, revocations })
    closing.push(sweepRegularly(store, logger))

    const management = await startOpsServer({
      ...config.management,
      service: SERVICE,
      version: readPackageVersion(),
      registry: metrics.registry,
      checks: async () => [{ name: 'accepting', ok: !draining }, await checkStore(store)],
      logger,
    })
    closing.push(() => management.close())
    const closeGently = watchConnections(app.server)
    closing.push(() => closeGently(() => app.close()))
    closing.push(() => revocations.close())
    const url = await listen(app, config)
    return { url, managementUrl: management.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

type Secrets = {
  readonly gatewaySecret: string
  readonly signingKeys: Awaited<ReturnType<typeof loadSigningKeys>>
  readonly cookieSecrets: readonly string[]
  readonly integrations: readonly StaticClient[]
}

async function loadSecrets(config: AuthorizationServerConfig): Promise<Secrets> {
  return {
    gatewaySecret: await loadGatewaySecret({
      file: config.gatewayClient.secretFile,
      development: config.development,
    }),
    signingKeys: await loadSigningKeys(config),
    cookieSecrets: await loadCookieKeys(config),
    integrations: await Promise.all(
      config.integrations.map(async (integration) => ({
        clientId: integration.clientId,
        clientName: integration.clientName,
        redirectUris: integration.redirectUris,
        clientSecret:
          integration.clientSecretFile === undefined
            ? undefined
            : (await readSecretFile(integration.clientSecretFile, 'integrations[].clientSecretFile')).trim(),
      })),
    ),
  }
}

async function announceAccounts(
  config: AuthorizationServerConfig,
  store: Store,
  logger: Logger,
): Promise<void> {
  const settled = await settleDevelopmentAccounts({
    store: store.accounts,
    development: config.development,
    nowSeconds: nowSeconds(),
  })
  if (settled.removed.length > 0)
    logger.warn(
      { event: 'development_accounts_removed', usernames: settled.removed },
      'development accounts of an earlier start were removed, with everything issued to them',
    )
  if (config.development)
    logger.warn(
      {
        event: 'development_mode',
        accounts: DEVELOPMENT_ACCOUNTS.map(({ username }) => username),
      },
      'DEVELOPMENT MODE: anybody can sign in as alice/alice or bob/bob. Never use this in production.',
    )
}

type Parts = {
  readonly config: AuthorizationServerConfig
  readonly secrets: Secrets
  readonly accounts: Accounts
  readonly metrics: Metrics
  readonly logger: Logger
  readonly revocations: RevocationStream
}

function buildEngine(parts: Parts & { readonly store: Store }): Engine {
  const { config, secrets, accounts } = parts
  return createEngine({
    issuer: config.issuer,
    catalogue: config.catalogue,
    lifetimes: { ...config.lifetimes, interactionSeconds: INTERACTION_SECONDS },
    signingKeys: { keys: secrets.signingKeys.keys.map((key) => ({ ...key })) },
    cookieKeys: cookieKeys(secrets.cookieSecrets),
    gatewayClientId: config.gatewayClient.id,
    gatewayClientSecret: secrets.gatewaySecret,
    integrations: secrets.integrations,
    unusedClientSeconds: config.registration.unusedClientSeconds,
    store: parts.store,
    findAccount: (id) => accounts.find(id),
    renderErrorPage: (error, response) => errorPage(error, response, config),
    onEvent: observeEngine({
      logger: parts.logger,
      metrics: parts.metrics,
      grantGone: parts.revocations.publish,
    }),
    nowSeconds,
  })
}

function buildApp(parts: Parts & { readonly engine: Engine }): FastifyInstance {
  const { config, engine, metrics, logger } = parts
  const app = Fastify({
    return503OnClosing: false, // what arrives on an open connection while draining is still answered
    logger: false, // the gateway writes the access log; what matters here is in the audit lines
    genReqId: (request) => requestId(request.headers['x-request-id']),
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'], // only the gateway reaches this service
    requestTimeout: REQUEST_TIMEOUT_MS,
    clientErrorHandler: answerBrokenConnection,
    frameworkErrors: (_error, _request, reply) => void answerBrokenAddress(reply),
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    routerOptions: { caseSensitive: true, ignoreTrailingSlash: false },
  })
  answerEverythingElse(app, { logger })
  app.register(async (scope) =>
    mountEndpoints(scope, {
      engine,
      issuer: config.issuer,
      catalogue: config.catalogue,
      registration: config.registration,
      refreshGate: createRefreshGate({ nextTurn: () => nextTurn(), wait: (ms) => wait(ms) }),
      count: metrics.countRequest,
      logger,
    }),
  )
  app.get(
    ENDPOINTS.userinfo,
    userinfoHandler({
      issuer: config.issuer,
      findTokenOwner: engine.findTokenOwner,
      findAccount: (id) => parts.accounts.find(id),
      count: (result) => metrics.countRequest(USERINFO_ENDPOINT.name, '-', result),
    }),
  )
  app.get(REVOCATION_STREAM_PATH, parts.revocations.handle)
  app.register(async (scope) =>
    registerInteractionPages(scope, {
      interactions: engine.interactions,
      accounts: parts.accounts,
      catalogue: config.catalogue,
      serviceName: config.name,
      origin: new URL(config.issuer).origin,
      secureCookies: config.issuer.startsWith('https:'),
      cookieKeys: parts.secrets.cookieSecrets,
      nowMs: () => Date.now(),
      logger,
    }),
  )
  return app
}

/** For a browser that cannot be sent back to the client. */
function errorPage(
  error: { readonly error: string; readonly description: string },
  response: ServerResponse,
  config: AuthorizationServerConfig,
): string {
  for (const [name, value] of Object.entries(pageHeaders([]))) response.setHeader(name, value)
  const requestId = response.getHeader('x-request-id')
  return renderErrorPage({
    ...error,
    serviceName: config.name,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}

async function listen(app: FastifyInstance, config: AuthorizationServerConfig): Promise<string> {
  await app.ready()
  try {
    return await app.listen({ ...config.listen }) // Fastify writes into what it gets
  } catch (error) {
    throw explainListenError(error, {
      service: SERVICE,
      ...config.listen,
      setting: 'PORT or listen.port in config/authorization-server.yaml',
    })
  }
}

/** Expired artifacts, and clients that nobody ever used, go once a minute. */
function sweepRegularly(store: Store, logger: Logger): () => void {
  const timer = setInterval(() => {
    store.sweep(nowSeconds()).then(
      (removed) => logger.debug({ event: 'swept', removed }, 'expired artifacts removed'),
      (error: unknown) =>
        logger.error({ event: 'sweep_failed', err: error }, 'expired artifacts stay for now'),
    )
  }, SWEEP_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

async function checkStore(store: Store): Promise<{ name: string; ok: boolean; detail?: string }> {
  try {
    await store.check()
    return { name: 'store', ok: true }
  } catch {
    return { name: 'store', ok: false, detail: 'the store does not answer' }
  }
}

function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9_-]{1,128}$/.test(given) ? given : randomUUID()
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
