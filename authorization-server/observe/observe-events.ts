import type { AuditLog } from '../../platform/logging/audit-log.ts'
import type { Logger } from '../../platform/logging/logger.ts'
import { type Tracing, traceFields } from '../../platform/tracing/tracing.ts'
import type { Account } from '../accounts/accounts.ts'
import type { AdministrationEvent, AdministrationOrigin } from '../administration/administration.ts'
import type { DocumentFetch } from '../client-documents/client-documents.ts'
import type { StreamEvent } from '../endpoints/revocation-stream.ts'
import type { EngineEvent } from '../engine/engine-events.ts'
import { type StoredAccount, StoreError } from '../store/store.ts'
import type { Metrics } from './metrics.ts'

/** Label of sign-ins with a user name and a password. Configuration files cannot give this name to a provider. */
const LOCAL_PROVIDER = 'local'

/**
 * Converts events of the engine to audit lines (`event: "audit"`), log lines and counters.
 * The lines identify clients and accounts by their ids, and grants by the hash of their ids. Events never contain
 * tokens, codes or secrets.
 */
export function observeEngine(options: {
  readonly logger: Logger
  readonly audit: AuditLog
  readonly metrics: Metrics
  /** Default: audit lines have no trace IDs. */
  readonly tracing?: Pick<Tracing, 'current'> | undefined
}): (event: EngineEvent) => void {
  const { logger, metrics, tracing } = options

  return (event) => {
    const origin = {
      request_id: event.origin?.requestId,
      ...(tracing && traceFields(tracing.current())),
      'client.address': event.origin?.clientAddress,
    }
    const audit: AuditLog = (action, fields) => options.audit(action, { ...origin, ...fields })

    switch (event.kind) {
      case 'signed_in':
        metrics.countSignIn(event.provider ?? LOCAL_PROVIDER, 'ok')
        return audit(event.kind, {
          client_id: event.clientId,
          subject: event.accountId,
          provider: event.provider,
          second_factor: event.secondFactor,
        })
      case 'second_factor_set':
      case 'second_factor_removed':
      case 'recovery_codes_created':
        return audit(event.kind, { subject: event.accountId })
      case 'account_added':
        return audit(event.kind, {
          subject: event.accountId,
          account_origin: 'provider',
          provider: event.provider,
        })
      case 'password_set':
        return audit(event.kind, { subject: event.accountId, link: event.purpose })
      case 'signed_out':
        metrics.countSessionEnded()
        return audit(event.kind, { client_id: event.clientId, subject: event.accountId })
      case 'sign_in_failed':
        metrics.countSignIn('provider' in event ? event.provider : LOCAL_PROVIDER, event.reason)
        if ('provider' in event)
          return audit(event.kind, {
            client_id: event.clientId,
            provider: event.provider,
            reason: event.reason,
            detail: event.detail,
          })
        return audit(event.kind, {
          client_id: event.clientId,
          subject: event.accountId,
          reason: event.reason,
        })
      case 'sign_in_throttled':
        metrics.countThrottledSignIn()
        return event.isFirst ? audit(event.kind, {}) : undefined
      case 'client_registered':
        metrics.countClientRegistered()
        return audit(event.kind, { client_id: event.clientId, redirect_uris: event.redirectUris })
      case 'consent_given':
        if (event.reason === undefined) metrics.countConsent('given')
        metrics.countGrantCreated(event.reason ?? 'page')
        return audit(event.kind, {
          client_id: event.clientId,
          subject: event.accountId,
          scopes: event.scopes,
          reason: event.reason,
        })
      case 'consent_denied':
        metrics.countConsent('denied')
        return audit(event.kind, { client_id: event.clientId, subject: event.accountId })
      case 'token_issued':
      case 'token_refreshed':
        if (event.isCanary === true) metrics.countGrantCreated('canary')
        return audit(event.kind, {
          client_id: event.clientId,
          subject: event.accountId,
          scope: event.scope,
          grant: event.grant,
        })
      case 'refresh_repeated':
        metrics.countRefreshRepeat()
        return audit(event.kind, {
          client_id: event.clientId,
          subject: event.accountId,
          grant: event.grant,
        })
      case 'grant_revoked':
        metrics.countGrantEnded(event.reason)
        if (event.reason === 'refresh_token_reused') metrics.countRefreshReuse()
        return audit(event.reason === 'revoked' ? 'token_revoked' : event.reason, {
          client_id: event.clientId,
          subject: event.accountId,
          grant: event.grant,
        })
      case 'rejected':
        return logger.info(
          {
            event: 'refused',
            ...origin,
            endpoint: event.endpoint,
            error: event.error,
            detail: event.detail,
            client_id: event.clientId,
          },
          'request rejected',
        )
      case 'failed': {
        const fields = { event: 'failed', ...origin, endpoint: event.endpoint, err: event.cause }
        if (isClientGone(event.cause)) return logger.debug(fields, 'the client disconnected')
        // `watchStore()` logs the state of the store and counts the failures.
        if (isOutage(event.cause)) return logger.debug(fields, 'the store failed')
        return logger.error(fields, 'request failed')
      }
    }
  }
}

function isOutage(cause: Error): boolean {
  return cause instanceof StoreError && cause.code === 'ERR_STORE_UNAVAILABLE'
}

const DISCONNECT_CODES: readonly unknown[] = [
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ECONNABORTED',
]

function isClientGone(cause: Error): boolean {
  return 'code' in cause && DISCONNECT_CODES.includes(cause.code)
}

export function observeDocuments(options: {
  readonly logger: Pick<Logger, 'debug' | 'warn'>
  readonly metrics: Pick<Metrics, 'countClientDocument'>
}): (fetch: DocumentFetch) => void {
  const { logger, metrics } = options
  return ({ clientId, result, cause }) => {
    metrics.countClientDocument(result)
    if (result === 'ok')
      logger.debug({ event: 'client_document', client_id: clientId }, 'client document fetched')
    else
      logger.warn(
        { event: 'client_document_rejected', client_id: clientId, reason: result, err: cause },
        'cannot use a client document',
      )
  }
}

export function observeStreams(options: {
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly metrics: Pick<Metrics, 'countRequest'>
}): (event: StreamEvent) => void {
  return ({ result, reason, address }) => {
    options.metrics.countRequest('revocation_stream', '-', result)
    const streamFields = { endpoint: 'revocation_stream', reason, address }
    if (result === 'ok')
      options.logger.info({ event: 'revocation_listener', ...streamFields }, 'revocation stream opened')
    else if (result === 'cut')
      options.logger.warn(
        { event: 'revocation_listener_cut', ...streamFields },
        'revocation stream closed: the gateway reads too slowly',
      )
    else options.logger.warn({ event: 'refused', error: result, ...streamFields }, 'request rejected')
  }
}

/** Writes the audit line of an account that was added or removed outside a request. */
export function auditAccount(
  audit: AuditLog,
  action: 'account_added' | 'account_removed',
  { id, username }: Pick<Account, 'id' | 'username'>,
  origin: StoredAccount['origin'],
): void {
  audit(action, { subject: id, username, account_origin: origin })
}

/** Writes the audit line of a change that the operator made with a command or in the console. Counts ended grants and sessions. */
export function observeAdministration(options: {
  readonly audit: AuditLog
  readonly metrics: Pick<Metrics, 'countGrantEnded' | 'countSessionEnded'>
}): (event: AdministrationEvent, origin?: AdministrationOrigin) => void {
  const { audit, metrics } = options
  return ({ action, accountId, clientId, grant }, origin) => {
    if (action === 'grant_revoked') metrics.countGrantEnded('operator')
    if (action === 'session_ended') metrics.countSessionEnded()
    audit(action, {
      actor: 'operator',
      subject: accountId,
      client_id: clientId,
      grant,
      console_session: origin?.session,
      address: origin?.address,
    })
  }
}

/** Logs the audit line of a signing key that a command added to the file of keys or removed from this file. */
export function auditSigningKey(
  audit: AuditLog,
  action: 'signing_key_added' | 'signing_key_retired',
  {
    kid,
    alg,
    file,
    not_before,
    forced,
  }: {
    readonly kid: string
    readonly alg: string
    readonly file: string
    /** Time from which an added key signs. */
    readonly not_before?: string
    /** Whether the operator removed a key before its tokens had expired. */
    readonly forced?: boolean
  },
): void {
  audit(action, { kid, alg, file, not_before, forced })
}
