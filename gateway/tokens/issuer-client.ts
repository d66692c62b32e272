import { hash } from 'node:crypto'
import type { FailureKind, FailureLog } from '../../platform/logging/failure-log.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import type { Tracing } from '../../platform/tracing/tracing.ts'
import type { Caller } from '../../policy-engine/decide/caller.ts'
import type { ClaimNames } from '../../policy-engine/decide/named-claims.ts'
import { createScopeSets } from '../../policy-engine/decide/scope-check.ts'
import type { TokenStatus } from './cache/token-status.ts'
import type { ClientSecret } from './client-secret.ts'
import { createIntrospector, type Introspector, type SharedLevel } from './introspection/introspect.ts'
import { readSignedIntrospection } from './introspection/read-signed-introspection.ts'
import type { Issuer, StaleUse } from './issuer.ts'
import type { IssuerConfig, JwtConfig } from './issuer-config.ts'
import type { IssuerMeter } from './issuer-meter.ts'
import { createDocumentFetcher } from './jwt/fetch-document.ts'
import { type Clock, createIssuerKeys, type IssuerKeys } from './jwt/issuer-keys.ts'
import { createJwksFileCache } from './jwt/jwks-file-cache.ts'
import type { JwtRules } from './jwt/jwt-rules.ts'
import { createKeySource } from './jwt/key-source.ts'
import type { CompactJwt } from './jwt/read-compact-jwt.ts'
import { verifyJwt } from './jwt/verify-jwt.ts'
import { createStaleUses, type StaleUses } from './stale-uses.ts'
import { UnverifiableError } from './unverifiable-error.ts'

export type IssuerClientOptions = {
  readonly config: IssuerConfig
  /** Base URL of the gateway. The `audience` values of the issuer identify this resource. */
  readonly baseUrl: string
  /** Folder of the JWKS file cache. Undefined: no file cache. */
  readonly dataDir: string | undefined
  readonly clock: Clock
  readonly random: () => number
  /** The client secret from a file, which changes when the file changes. Undefined: the secret does not change. */
  readonly followedSecret?: ClientSecret | undefined
  /** The cache that gateways share. Undefined: each gateway introspects for itself. */
  readonly shared: Omit<SharedLevel, 'onResult'> | undefined
  /**
   * Returns the time up to which the gateway has received all revocations of tokens with the issue time
   * `issuedAtSeconds`. Milliseconds on the monotonic clock.
   */
  readonly completeUntilMs: (issuer: string, issuedAtSeconds: number | undefined) => number
  readonly meter: IssuerMeter
  /** Records each introspection in a span. Default: no spans. */
  readonly tracing?: Tracing | undefined
  readonly logger: Logger
  readonly failures: FailureLog
}

/**
 * Client of one issuer. The client has keys if the gateway verifies JWTs of the issuer. The client has an introspector
 * if the gateway introspects tokens.
 */
export type IssuerClient = Issuer & {
  readonly keys: IssuerKeys | undefined
  readonly introspector: Pick<Introspector, 'load' | 'unavailableReason'> | undefined
  readonly stale: (StaleUse & Pick<StaleUses, 'isActive'>) | undefined
}

/**
 * Share of `introspection.timeout` for the check of a token with an earlier status. If the issuer does not respond,
 * requests with known tokens then wait only for a short time.
 */
const PATIENCE_SHARE = 0.25

const INTROSPECTION_FAILED = {
  event: 'introspection_failed',
  message: 'a token cannot be introspected: clients get 503',
}
const JWT_UNVERIFIABLE = {
  event: 'jwt_unverifiable',
  message: 'a JWT cannot be verified: clients get 503',
}

/**
 * Creates the client of an issuer. Before the promise resolves, the client fetches the keys. If the fetch fails, the
 * client reads the keys from the file cache. The deadlines of the documents limit the wait. Never rejects: the gateway
 * retries an unavailable issuer in the background.
 */
export async function openIssuerClient(options: IssuerClientOptions): Promise<IssuerClient> {
  const { config, clock } = options
  const { issuer, jwt, introspection, staleIfErrorMs } = config
  const nowSeconds = (): number => clock.nowMs() / 1_000
  const id = nameOf({
    ...config,
    introspection: { ...introspection, clientSecret: undefined, clientSecretFile: undefined },
  })
  const opened = jwt === undefined ? undefined : openKeys(jwt, options)
  const introspector =
    introspection === undefined
      ? undefined
      : createIntrospector({
          ...introspection,
          followedSecret: options.followedSecret,
          tracing: options.tracing,
          issuer,
          ca: config.ca,
          sendsRequestId: issuer === options.baseUrl || config.revocations !== undefined,
          readSigned:
            introspection.signed && opened !== undefined && jwt !== undefined
              ? (text) =>
                  readSignedIntrospection(text, {
                    issuer,
                    audience: introspection.clientId,
                    algorithms: new Set(jwt.algorithms),
                    keys: opened.keys,
                    nowSeconds,
                  })
              : undefined,
          id,
          staleIfErrorMs,
          shared: options.shared && { ...options.shared, onResult: options.meter.sharedLookUp },
          nowMs: clock.nowMs,
          tickMs: clock.tickMs,
          onResult: options.meter.introspected,
          logger: options.logger,
          failures: options.failures,
        })
  const staleUses = createStaleUses({
    ...clock,
    issuer,
    onUsed: options.meter.staleUsed,
    logger: options.logger,
  })
  await opened?.keys.start()
  const scopes = createScopeSets()

  /** Logs why a token cannot be validated. The response to the client does not contain the reason. */
  async function report<R>(
    kind: Pick<FailureKind, 'event' | 'message'>,
    requestId: string | undefined,
    validation: Promise<R>,
  ): Promise<R> {
    try {
      return await validation
    } catch (error) {
      if (error instanceof UnverifiableError)
        options.failures.failed({ ...kind, fields: { issuer } }, error, requestId)
      throw error
    }
  }

  async function verifyAndCheckAge(
    rules: JwtRules,
    keys: IssuerKeys,
    token: CompactJwt,
    names: ClaimNames,
  ): Promise<TokenStatus> {
    const status = await verifyJwt(token, { rules, keys, scopes, nowSeconds }, names)
    const isUsable = !status.active || usableMs === undefined || usableMs(status.caller) > 0
    if (!isUsable && introspector === undefined) throw new RevocationsMissingError(issuer)
    return status
  }

  const rules = jwt === undefined ? undefined : toRules(jwt, options)
  const usableMs =
    jwt?.maxRevocationDelayMs === undefined
      ? undefined
      : (caller: Caller) => remainingMs(caller, jwt.maxRevocationDelayMs ?? 0, options)
  return {
    issuer,
    id,
    keys: opened?.keys,
    introspector,
    verify:
      opened === undefined || rules === undefined
        ? undefined
        : (token, names, requestId) =>
            report(JWT_UNVERIFIABLE, requestId, verifyAndCheckAge(rules, opened.keys, token, names)),
    usableMs,
    introspect:
      introspector &&
      ((token, sinceGapMs, names, earlier, requestId) =>
        report(
          INTROSPECTION_FAILED,
          requestId,
          introspector.introspect(token, sinceGapMs, names, earlier, requestId),
        )),
    stale:
      introspection === undefined || staleIfErrorMs === 0
        ? undefined
        : {
            patienceMs: introspection.timeoutMs * PATIENCE_SHARE,
            used: staleUses.used,
            get isActive() {
              return staleUses.isActive
            },
          },
    get ready() {
      return opened?.keys.ready ?? true
    },
    async close() {
      staleUses.close()
      opened?.keys.close()
      await opened?.close()
      await introspector?.close()
    },
  }
}

/**
 * Returns the remaining time for which a verified JWT may be accepted. The time counts from the last complete delivery
 * of revocations, or from the issue of the token if the issue is later. Any earlier revocation is known. Milliseconds.
 */
function remainingMs(
  { issuer, issuedAtSeconds }: Caller,
  maxDelayMs: number,
  { clock, completeUntilMs }: Pick<IssuerClientOptions, 'clock' | 'completeUntilMs'>,
): number {
  const unknownForMs = clock.tickMs() - completeUntilMs(issuer, issuedAtSeconds)
  const ageMs = issuedAtSeconds === undefined ? Infinity : clock.nowMs() - issuedAtSeconds * 1_000
  return maxDelayMs - Math.min(unknownForMs, Math.max(0, ageMs))
}

/** Revocations of a JWT may be missing, and the issuer has no introspection. C338 rejects this configuration. */
class RevocationsMissingError extends UnverifiableError {
  readonly code = 'ERR_REVOCATIONS_MISSING'

  constructor(issuer: string) {
    super(`No revocations of ${issuer} arrive, and jwt.maxRevocationDelay has passed.`)
  }
}

function openKeys(jwt: JwtConfig, options: IssuerClientOptions) {
  const { issuer, ca } = options.config
  const { dataDir, clock } = options
  const algorithms = new Set(jwt.algorithms)
  const fetcher = createDocumentFetcher({ ca })
  // A local key file is available at every start, so the file needs no cached copy.
  const isCopied = dataDir !== undefined && jwt.keys.by !== 'file'
  const keys = createIssuerKeys({
    ...options,
    ...jwt,
    issuer,
    algorithms,
    load: createKeySource({
      issuer,
      location: jwt.keys,
      algorithms,
      fetchDocument: fetcher.fetchDocument,
      timeoutMs: jwt.timeoutMs,
    }),
    copy: isCopied
      ? createJwksFileCache({ dir: dataDir, id: nameOf({ issuer, ...jwt.keys }), nowMs: clock.nowMs })
      : undefined,
  })
  return { keys, close: fetcher.close }
}

function toRules(jwt: JwtConfig, { config, baseUrl }: IssuerClientOptions) {
  return { ...jwt, issuer: config.issuer, algorithms: new Set(jwt.algorithms), resource: baseUrl }
}

/** Returns an ID that is the same for the same configuration, in every process and after a restart. */
function nameOf(config: object): string {
  return hash('sha256', JSON.stringify(config), 'base64url')
}
