import { hkdfSync } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { ENDPOINTS } from '../oauth/endpoints.ts'
import { openSecretFiles } from '../platform/config/secret-files.ts'
import { type AuditLog, openAuditLog } from '../platform/logging/audit-log.ts'
import { createLogLevelControl } from '../platform/logging/log-level.ts'
import type { Logger } from '../platform/logging/logger.ts'
import { createAddressLimit } from '../platform/net/address-limit.ts'
import { gracefulClose } from '../platform/net/graceful-close.ts'
import { isPublicAddress } from '../platform/net/public-address.ts'
import { systemAddresses } from '../platform/net/resolve-name.ts'
import { logLevelEndpoints } from '../platform/ops/log-level-endpoints.ts'
import { metricsOf } from '../platform/ops/metrics-format.ts'
import { startOpsServer } from '../platform/ops/ops-server.ts'
import type { ShutdownMode } from '../platform/process/drain.ts'
import { explainListenError } from '../platform/process/listen-error.ts'
import { readPackageVersion } from '../platform/process/package-version.ts'
import { openTracing } from '../platform/tracing/open-tracing.ts'
import { type Accounts, createAccounts } from './accounts/accounts.ts'
import { createSecondFactors, type SecondFactors } from './accounts/second-factors.ts'
import { DEVELOPMENT_ACCOUNTS, syncDevelopmentAccounts } from './accounts/sync-development-accounts.ts'
import { openAdminSocket } from './administration/admin-socket.ts'
import { createAdministration } from './administration/administration.ts'
import type { ConfiguredClient } from './administration/describe-client.ts'
import {
  type ClientDocuments,
  createClientDocuments,
  type DocumentFetch,
} from './client-documents/client-documents.ts'
import type { DocumentNetwork } from './client-documents/fetch-client-document.ts'
import type { AuthorizationServerConfig } from './config.ts'
import { createRememberedConsents } from './consent/remembered-consents.ts'
import { openConsole } from './console/open-console.ts'
import { errorPage } from './endpoints/error-page.ts'
import { openRevocationStream } from './endpoints/revocation-stream.ts'
import type { CanaryClient } from './engine/canary-grant.ts'
import { createEngine } from './engine/engine.ts'
import type { EngineEvent } from './engine/engine-events.ts'
import { type BuiltEngine, createReplaceableEngine } from './engine/replaceable-engine.ts'
import { createHttpServer } from './http-server.ts'
import { cookieKeys } from './keys/cookie-keys.ts'
import { followSecrets, type LiveSecrets } from './keys/live-secrets.ts'
import { loadSecrets } from './keys/load-secrets.ts'
import { activeKeys } from './keys/signing-keys.ts'
import { createMetrics } from './observe/metrics.ts'
import {
  auditAccount,
  observeAdministration,
  observeDocuments,
  observeEngine,
  observeStreams,
} from './observe/observe-events.ts'
import { watchStore } from './observe/watch-store.ts'
import { loadLook } from './pages/load-look.ts'
import type { Look } from './pages/look.ts'
import type { ProviderSignIn } from './pages/provider-pages.ts'
import { createPasswordLinks } from './password-links/password-links.ts'
import { createProviderClient } from './sign-in/provider-client.ts'
import { ATTEMPT_MODEL, createSignInAttempts } from './sign-in/sign-in-attempts.ts'
import { readEndMark } from './store/end-sessions.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'

const SERVICE = 'authorization-server'
const INTERACTION_SECONDS = 1_800 // half an hour, because the person may have to find a password
const SWEEP_EVERY_MS = 60_000
/** Maximum rate of tokens for the canary in this process. The canary requests one token for each run. */
const CANARY_RATE = { perAddress: 60, windowMs: 60_000 }
const DOCUMENT_NETWORK: DocumentNetwork = {
  resolve: systemAddresses,
  isPermitted: isPublicAddress,
  ca: undefined,
  timeoutMs: 3_000,
}

export type RunningAuthorizationServer = {
  readonly url: string
  readonly managementUrl: string
  /**
   * Finishes open requests, ends the revocation streams and closes the store.
   * @param how `graceful`: the server accepts requests until `drain.delay` has passed, so that load balancers can
   *   detect the change of `/readyz`. `immediate` (default): the server stops accepting requests immediately.
   */
  close(how?: ShutdownMode): Promise<void>
}

/**
 * Starts the authorization server: keys, store, engine, endpoints, pages, management port.
 * @param options.documentNetwork access to the hosts of client documents. Default: public addresses only.
 * @throws {BootError} when the server cannot start. The message says what to do.
 */
export async function startAuthorizationServer(options: {
  readonly config: AuthorizationServerConfig
  readonly logger: Logger
  readonly documentNetwork?: DocumentNetwork
}): Promise<RunningAuthorizationServer> {
  const { config, logger } = options
  let draining = false
  const closing: ((how: ShutdownMode) => Promise<void> | void)[] = []
  const close = async (how: ShutdownMode = 'immediate'): Promise<void> => {
    draining = true
    for (const end of closing.splice(0).reverse()) await end(how)
  }
  try {
    const initialSecrets = await loadSecrets(config)
    const look = await loadLook(config.look)
    const auditLog = await openAuditLog({ log: config.log, service: SERVICE, logger })
    closing.push(() => auditLog.close())
    const { audit } = auditLog
    const opened = await openStore(config, { nowSeconds, logger })
    closing.push(() => opened.close())

    const metrics = createMetrics({
      version: readPackageVersion(),
      listeners: () => revocations.listeners(),
      logger,
    })
    auditLog.register(metrics.registry)
    const tracing = await openTracing({
      config: config.tracing,
      env: process.env,
      serviceName: `scopegate-${SERVICE}`,
      version: readPackageVersion(),
      registry: metrics.registry,
      logger,
    })
    closing.push(() => tracing?.close())
    const secretFiles = openSecretFiles({ registry: metrics.registry, logger })
    closing.push(secretFiles.close)
    const secrets = followSecrets(config, { secrets: initialSecrets, files: secretFiles, logger })
    const health = await watchStore({ store: opened, logger, metrics })
    closing.push(() => health.close())
    const { store } = health
    await announceAccounts({ config, store, audit, logger })
    const revocations = await openRevocationStream({
      clientId: config.gatewayClient.id,
      clientSecrets: () => secrets.current.gatewaySecrets,
      readSecrets: secrets.readGatewaySecrets,
      log: store.revocations,
      onEvent: observeStreams({ logger, metrics }),
    })
    closing.push(() => revocations.close())
    secrets.onChange(revocations.recheck)
    const accounts = createAccounts({
      store: store.accounts,
      development: config.development,
      nowSeconds,
      readEndMark: (accountId) => readEndMark(store, accountId),
    })
    const { secondFactor } = config.signIn
    const secondFactors = createSecondFactors({
      store: store.accounts,
      cookieKeys: () => secrets.current.cookieSecrets,
      nowSeconds,
    })
    // Accounts can have second factors also while `signIn.secondFactor.mode` is `off`. With one key, no secret can have
    // an earlier key.
    if (secrets.current.cookieSecrets.length > 1) void reencrypt(secondFactors, logger)
    secrets.onChange((changed) => {
      if (changed === 'cookieSecrets') void reencrypt(secondFactors, logger)
    })
    const onEvent = observeEngine({ logger, audit, metrics, tracing })
    const clientDocuments = openClientDocuments(
      config,
      observeDocuments({ logger, metrics }),
      options.documentNetwork,
    )
    const canaryLimit = createAddressLimit(CANARY_RATE, Date.now)
    const takeCanaryToken = () => canaryLimit.take(config.canary?.clientId ?? '')
    const engine = createReplaceableEngine({
      build: () =>
        buildEngine({ config, look, secrets, store, accounts, clientDocuments, takeCanaryToken, onEvent }),
      nowSeconds,
    })
    secrets.onChange((changed) => {
      if (changed === 'signingKeys' || changed === 'cookieSecrets') engine.replace()
    })
    const app = createHttpServer({
      config,
      look,
      engine,
      accounts,
      store,
      metrics,
      logger,
      tracing,
      onEvent,
      revocations,
      secrets,
      attempts: store.attempts,
      providers: providerSignIn({ config, secrets, accounts, store }),
      secondFactor: secondFactor && { ...secondFactor, factors: secondFactors },
    })
    closing.push(sweepRegularly(store, logger))
    const configured = configuredClients(config)
    const administration = createAdministration({
      store,
      accounts,
      passwordLinks: createPasswordLinks({ store, issuer: config.issuer }),
      secondFactors,
      configured,
      localSignIn: config.signIn.local,
      nowSeconds,
      onEvent: observeAdministration({ audit, metrics }),
    })
    const socket = await openAdminSocket({
      dataDir: config.dataDir,
      port: config.listen.port,
      administration,
      logger,
    })
    closing.push(() => socket.close())

    const logLevel = createLogLevelControl({ configured: config.log.level, logger, audit })
    closing.push(() => logLevel.close())
    const checks = () => [{ name: 'accepting', ok: !draining }, ...health.checks(), ...secretFiles.checks()]
    const console = openConsole({
      config,
      version: readPackageVersion(),
      logger,
      store,
      administration,
      configured,
      metrics: () => metricsOf(metrics.registry),
      checks,
      signingKeys: () => secrets.current.signingKeys,
      credential: { tokens: () => secrets.current.adminTokens, check: secrets.readAdminTokens },
      onSession: ({ action, session, address }) =>
        audit(action, { actor: 'operator', console_session: session, address }),
    })
    const management = await startOpsServer({
      ...config.management,
      service: SERVICE,
      version: readPackageVersion(),
      metrics: () => metricsOf(metrics.registry),
      checks,
      endpoints: [...logLevelEndpoints(logLevel), ...(console?.endpoints ?? [])],
      notFound: console?.notFound,
      logger,
    })
    closing.push(() => management.close())
    closing.push(() => console?.close())
    const connections = gracefulClose(app.server)
    const { delayMs, graceMs } = config.drain
    closing.push(async (how) => {
      await connections.finish({ graceMs: how === 'graceful' ? graceMs - delayMs : graceMs })
      await app.close()
    })
    // Runs before the wait for open connections, because a stream never ends on its own.
    closing.push(() => revocations.close())
    closing.push(async (how) => {
      connections.announce()
      if (how === 'graceful') await wait(delayMs)
    })
    const url = await listen(app, config)
    return { url, managementUrl: management.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the clients that are in the configuration, not in the store. */
function configuredClients({
  canary,
  gatewayClient,
  integrations,
}: AuthorizationServerConfig): readonly ConfiguredClient[] {
  return [
    { clientId: gatewayClient.id, clientName: 'gateway' },
    ...(canary === undefined ? [] : [{ clientId: canary.clientId, clientName: 'canary' }]),
    ...integrations.map(({ clientId, clientName }) => ({ clientId, clientName })),
  ]
}

async function announceAccounts({
  config,
  store,
  audit,
  logger,
}: {
  readonly config: AuthorizationServerConfig
  readonly store: Store
  readonly audit: AuditLog
  readonly logger: Logger
}): Promise<void> {
  const settled = await syncDevelopmentAccounts({
    store: store.accounts,
    development: config.development,
    nowSeconds: nowSeconds(),
  })
  for (const account of settled.added) auditAccount(audit, 'account_added', account, 'development')
  for (const account of settled.removed) auditAccount(audit, 'account_removed', account, 'development')
  if (settled.removed.length > 0)
    logger.warn(
      { event: 'development_accounts_removed', usernames: settled.removed.map(({ username }) => username) },
      'development accounts removed, with their sessions, grants and tokens',
    )
  if (config.development)
    logger.warn(
      {
        event: 'development_mode',
        accounts: DEVELOPMENT_ACCOUNTS.map(({ username }) => username),
      },
      'DEVELOPMENT MODE: anybody can sign in as alice/alice or bob/bob. Never use development mode in production.',
    )
}

type Parts = {
  readonly config: AuthorizationServerConfig
  readonly look: Look
  readonly secrets: LiveSecrets
  readonly accounts: Accounts
  readonly clientDocuments: ClientDocuments | undefined
  readonly takeCanaryToken: CanaryClient['takeToken']
  readonly onEvent: (event: EngineEvent) => void
}

/** Opens the cache of client documents. The cache stays when the server replaces the engine. */
function openClientDocuments(
  { registration }: AuthorizationServerConfig,
  onFetch: (fetch: DocumentFetch) => void,
  network = DOCUMENT_NETWORK,
): ClientDocuments | undefined {
  if (registration.documentHosts.length === 0) return undefined
  return createClientDocuments({
    domains: registration.documentHosts,
    network,
    tickMs: () => performance.now(),
    onFetch,
  })
}

function buildEngine(parts: Parts & { readonly store: Store }): BuiltEngine {
  const { config, accounts } = parts
  const secrets = parts.secrets.current
  const { keys, changesAtSeconds } = activeKeys(secrets.signingKeys, nowSeconds())
  const engine = createEngine({
    issuer: config.issuer,
    catalogue: config.catalogue,
    resources: config.resources,
    lifetimes: { ...config.lifetimes, interactionSeconds: INTERACTION_SECONDS },
    accessTokens: config.accessTokens,
    signingKeys: { keys: [...keys] },
    cookieKeys: cookieKeys(() => parts.secrets.current.cookieSecrets),
    nonceSecrets: secrets.cookieSecrets.map((secret) =>
      Buffer.from(hkdfSync('sha256', secret, '', 'scopegate dpop nonces', 32)),
    ),
    gatewayClientId: config.gatewayClient.id,
    gatewayClientSecret: secrets.gatewaySecrets[0] ?? '',
    integrations: secrets.integrations.map(({ clientSecrets, ...client }) => ({
      ...client,
      clientSecret: clientSecrets?.[0],
    })),
    canary: config.canary && {
      ...config.canary,
      clientSecret: secrets.canarySecrets[0] ?? '',
      takeToken: parts.takeCanaryToken,
    },
    clientDocuments: parts.clientDocuments,
    verifyClientSecret: parts.secrets.verifyClientSecret,
    unusedClientSeconds: config.registration.unusedClientSeconds,
    pending: config.authorization.pending,
    optionalState: config.compat.optionalState,
    hasProviders: config.signIn.providers.length > 0,
    secondFactor: config.signIn.secondFactor,
    links: config.look.links,
    refreshRepeatSeconds: config.refreshTokens.repeatWindowSeconds,
    store: parts.store,
    trustedIds: new Set(config.integrations.flatMap((one) => (one.trusted === true ? [one.clientId] : []))),
    consents: createRememberedConsents({ ...config.consent, store: parts.store, nowSeconds }),
    findAccount: (id) => accounts.find(id),
    renderErrorPage: (error, response) =>
      errorPage(error, response, { serviceName: config.name, look: parts.look }),
    onEvent: parts.onEvent,
    nowSeconds,
  })
  return { engine, replaceAtSeconds: changesAtSeconds }
}

/** Creates the clients of the OpenID providers. Undefined: the configuration has no providers. */
function providerSignIn({
  config,
  secrets,
  accounts,
  store,
}: Pick<Parts, 'config' | 'secrets' | 'accounts'> & { readonly store: Store }): ProviderSignIn | undefined {
  const { providers } = config.signIn
  if (providers.length === 0) return undefined
  const clients = providers.map((provider) =>
    createProviderClient({
      provider,
      redirectUri: `${config.issuer}${ENDPOINTS.signIn}/${provider.name}/callback`,
      clientSecrets: () => secrets.providerSecrets(provider.name),
      nowSeconds,
    }),
  )
  return {
    accounts,
    clients: new Map(clients.map((client) => [client.provider.name, client])),
    attempts: createSignInAttempts({
      artifacts: store.artifacts(ATTEMPT_MODEL),
      expiresInSeconds: INTERACTION_SECONDS,
      bound: config.authorization.pending,
    }),
  }
}

/** Encrypts the secrets of all second factors with the newest cookie key. */
async function reencrypt(secondFactors: SecondFactors, logger: Logger): Promise<void> {
  try {
    const encrypted = await secondFactors.reencryptAll()
    if (encrypted > 0)
      logger.info(
        { event: 'second_factors_encrypted', encrypted },
        'encrypted the secrets of second factors with the newest cookie key',
      )
  } catch (error) {
    logger.error(
      { event: 'second_factor_encryption_failed', err: error },
      'cannot encrypt the secrets of all second factors; keep the earlier cookie keys, correct the cause and restart the server',
    )
  }
}

async function listen(app: FastifyInstance, config: AuthorizationServerConfig): Promise<string> {
  await app.ready()
  try {
    return await app.listen({ ...config.listen }) // a copy, because Fastify changes the object that it receives
  } catch (error) {
    throw explainListenError(error, {
      service: SERVICE,
      ...config.listen,
      setting: 'PORT or listen.port in config/authorization-server.yaml',
    })
  }
}

function sweepRegularly(store: Store, logger: Logger): () => void {
  const timer = setInterval(() => {
    store.sweep(nowSeconds()).then(
      (removed) => logger.debug({ event: 'swept', removed }, 'expired artifacts removed'),
      (error: unknown) =>
        logger.error(
          { event: 'sweep_failed', err: error },
          'cannot remove expired artifacts; the next sweep retries',
        ),
    )
  }, SWEEP_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
