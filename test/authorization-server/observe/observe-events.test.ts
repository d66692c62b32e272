import t from 'tap'
import type { EngineEvent } from '../../../authorization-server/engine/engine-events.ts'
import { createMetrics } from '../../../authorization-server/observe/metrics.ts'
import {
  auditAccount,
  observeAdministration,
  observeDocuments,
  observeEngine,
  observeStreams,
} from '../../../authorization-server/observe/observe-events.ts'
import { StoreError } from '../../../authorization-server/store/store.ts'
import { createAuditLog } from '../../../platform/logging/audit-log.ts'
import { createLogger } from '../../../platform/logging/logger.ts'

type Fields = Readonly<Record<string, unknown>>

/** Creates a logger and metrics. `take()` returns the log lines since the last call, without the time. */
const observer = () => {
  let lines: Fields[] = []
  const write = (line: string) => {
    const { time: _time, ...fields } = JSON.parse(line)
    lines.push(fields)
  }
  const logger = createLogger({ level: 'debug', service: 'authorization-server' }, { write })
  const metrics = createMetrics({ version: '1.2.3', listeners: () => 7, logger })
  const take = () => {
    const taken = lines
    lines = []
    return taken
  }
  const counted = async () =>
    (await metrics.registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('scopegate_oauth') && !/ 0$|listeners/.test(line))
  return { logger, audit: createAuditLog(logger), metrics, take, counted }
}

const origin = { requestId: 'request-1', clientAddress: '192.0.2.1' }
const who = { clientId: 'client-1', accountId: 'account-1' }
const AUDIT = {
  level: 'info',
  service: 'authorization-server',
  event: 'audit',
  request_id: 'request-1',
  'client.address': '192.0.2.1',
}
const WHO = { client_id: 'client-1', subject: 'account-1' }

t.test('observeEngine() writes one log line for each event, and counts the event', async (t) => {
  const token = { ...who, scope: 'openid', grant: 'grant-1', origin }
  const TOKEN = { ...AUDIT, ...WHO, scope: 'openid', grant: 'grant-1' }
  const revoked = { kind: 'grant_revoked', ...who, grant: 'grant-1', origin } as const
  const REVOKED = { ...AUDIT, ...WHO, grant: 'grant-1' }
  const cases: readonly (readonly [EngineEvent, Fields, ...counted: string[]])[] = [
    [
      { kind: 'signed_in', ...who, origin },
      { ...AUDIT, action: 'signed_in', ...WHO, msg: 'signed in' },
      'scopegate_oauth_sign_ins_total{provider="local",result="ok"} 1',
    ],
    [
      { kind: 'signed_in', ...who, provider: 'company', origin },
      { ...AUDIT, action: 'signed_in', ...WHO, provider: 'company', msg: 'signed in' },
      'scopegate_oauth_sign_ins_total{provider="company",result="ok"} 1',
    ],
    [
      { kind: 'account_added', accountId: 'account-1', provider: 'company', origin },
      {
        ...AUDIT,
        action: 'account_added',
        subject: 'account-1',
        account_origin: 'provider',
        provider: 'company',
        msg: 'account added',
      },
    ],
    [
      {
        kind: 'sign_in_failed',
        clientId: 'client-1',
        provider: 'company',
        reason: 'invalid',
        detail: 'azp',
        origin,
      },
      {
        ...AUDIT,
        action: 'sign_in_failed',
        client_id: 'client-1',
        provider: 'company',
        reason: 'invalid',
        detail: 'azp',
        msg: 'sign in failed',
      },
      'scopegate_oauth_sign_ins_total{provider="company",result="invalid"} 1',
    ],
    [
      { kind: 'signed_out', ...who, origin },
      { ...AUDIT, action: 'signed_out', ...WHO, msg: 'signed out' },
      'scopegate_oauth_sessions_ended_total 1',
    ],
    [
      { kind: 'sign_in_failed', ...who, reason: 'busy', origin },
      { ...AUDIT, action: 'sign_in_failed', ...WHO, reason: 'busy', msg: 'sign in failed' },
      'scopegate_oauth_sign_ins_total{provider="local",result="busy"} 1',
    ],
    [
      { kind: 'sign_in_throttled', isFirst: true, origin },
      { ...AUDIT, action: 'sign_in_throttled', msg: 'sign in throttled' },
      'scopegate_oauth_sign_ins_throttled_total 1',
    ],
    [
      { kind: 'client_registered', clientId: 'client-1', redirectUris: ['a:/', 'b:/'], origin },
      {
        ...AUDIT,
        action: 'client_registered',
        client_id: 'client-1',
        redirect_uris: ['a:/', 'b:/'],
        msg: 'client registered',
      },
      'scopegate_oauth_clients_registered_total 1',
    ],
    [
      { kind: 'consent_given', ...who, scopes: ['openid', 'email'], origin },
      { ...AUDIT, action: 'consent_given', ...WHO, scopes: ['openid', 'email'], msg: 'consent given' },
      'scopegate_oauth_consents_total{outcome="given"} 1',
      'scopegate_oauth_grants_created_total{consent="page"} 1',
    ],
    [
      { kind: 'consent_given', ...who, scopes: ['openid'], reason: 'remembered', origin },
      {
        ...AUDIT,
        action: 'consent_given',
        ...WHO,
        scopes: ['openid'],
        reason: 'remembered',
        msg: 'consent given',
      },
      'scopegate_oauth_grants_created_total{consent="remembered"} 1',
    ],
    [
      { kind: 'consent_denied', ...who, origin },
      { ...AUDIT, action: 'consent_denied', ...WHO, msg: 'consent denied' },
      'scopegate_oauth_consents_total{outcome="denied"} 1',
    ],
    [
      { kind: 'token_issued', ...token },
      { ...TOKEN, action: 'token_issued', msg: 'token issued' },
    ],
    [
      { kind: 'token_refreshed', ...token },
      { ...TOKEN, action: 'token_refreshed', msg: 'token refreshed' },
    ],
    [
      { kind: 'refresh_repeated', ...who, grant: 'grant-1', origin },
      { ...REVOKED, action: 'refresh_repeated', msg: 'refresh repeated' },
      'scopegate_oauth_refresh_repeats_total 1',
    ],
    [
      { ...revoked, reason: 'revoked' },
      { ...REVOKED, action: 'token_revoked', msg: 'token revoked' },
      'scopegate_oauth_grants_ended_total{reason="revoked"} 1',
    ],
    [
      { ...revoked, reason: 'code_reused' },
      { ...REVOKED, action: 'code_reused', msg: 'code reused' },
      'scopegate_oauth_grants_ended_total{reason="code_reused"} 1',
    ],
    [
      { ...revoked, reason: 'grant_ended' },
      { ...REVOKED, action: 'grant_ended', msg: 'grant ended' },
      'scopegate_oauth_grants_ended_total{reason="grant_ended"} 1',
    ],
    [
      { ...revoked, reason: 'access_removed' },
      { ...REVOKED, action: 'access_removed', msg: 'access removed' },
      'scopegate_oauth_grants_ended_total{reason="access_removed"} 1',
    ],
    [
      { ...revoked, reason: 'refresh_token_reused' },
      { ...REVOKED, action: 'refresh_token_reused', msg: 'refresh token reused' },
      'scopegate_oauth_grants_ended_total{reason="refresh_token_reused"} 1',
      'scopegate_oauth_refresh_reuse_total 1',
    ],
    [
      {
        kind: 'rejected',
        endpoint: 'token',
        error: 'invalid_grant',
        detail: 'expired',
        clientId: 'client-1',
        origin,
      },
      {
        ...AUDIT,
        event: 'refused',
        endpoint: 'token',
        error: 'invalid_grant',
        detail: 'expired',
        client_id: 'client-1',
        msg: 'request rejected',
      },
    ],
  ]
  for (const [event, line, ...series] of cases) {
    const { logger, audit, metrics, take, counted } = observer()
    observeEngine({ logger, audit, metrics })(event)
    t.strictSame(take(), [line], event.kind)
    t.strictSame(await counted(), series, event.kind)
  }
})

t.test('observeDocuments() counts each fetch and warns about a rejected document', async (t) => {
  const { logger, metrics, take, counted } = observer()
  const observe = observeDocuments({ logger, metrics })
  const clientId = 'https://agent.example/client'
  const line = { service: 'authorization-server', client_id: clientId }
  observe({ clientId, result: 'ok' })
  t.strictSame(take(), [
    { ...line, level: 'debug', event: 'client_document', msg: 'client document fetched' },
  ])
  observe({ clientId, result: 'status' })
  t.strictSame(take(), [
    {
      ...line,
      level: 'warn',
      event: 'client_document_rejected',
      reason: 'status',
      msg: 'cannot use a client document',
    },
  ])
  t.strictSame(await counted(), [
    'scopegate_oauth_client_documents_total{result="ok"} 1',
    'scopegate_oauth_client_documents_total{result="status"} 1',
  ])
})

t.test('observeEngine() counts every throttled attempt and logs only the first', async (t) => {
  const { logger, audit, metrics, take, counted } = observer()
  observeEngine({ logger, audit, metrics })({ kind: 'sign_in_throttled', isFirst: false, origin })
  t.strictSame(take(), [])
  t.strictSame(await counted(), ['scopegate_oauth_sign_ins_throttled_total 1'])
})

t.test('observeEngine() writes a line without request fields for an event outside a request', async (t) => {
  const { logger, audit, metrics, take } = observer()
  observeEngine({ logger, audit, metrics })({ kind: 'signed_in', ...who, origin: undefined })
  const { request_id: _id, 'client.address': _address, ...rest } = AUDIT
  t.strictSame(take(), [{ ...rest, action: 'signed_in', ...WHO, msg: 'signed in' }])
})

t.test('observeEngine() logs a failure by its cause', async (t) => {
  const withCode = (code: string) => Object.assign(new Error('why'), { code })
  for (const [cause, level, msg] of [
    [withCode('ECONNRESET'), 'debug', 'the client disconnected'],
    [withCode('EPIPE'), 'debug', 'the client disconnected'],
    [withCode('ERR_STREAM_PREMATURE_CLOSE'), 'debug', 'the client disconnected'],
    [withCode('ECONNABORTED'), 'debug', 'the client disconnected'],
    [new StoreError('ERR_STORE_UNAVAILABLE', 'why'), 'debug', 'the store failed'],
    [new StoreError('ERR_STORE_DAMAGED', 'why'), 'error', 'request failed'],
    [withCode('ERR_STORE_UNAVAILABLE'), 'error', 'request failed'],
    [withCode('ECONNREFUSED'), 'error', 'request failed'],
    [new Error('why'), 'error', 'request failed'],
  ] as const) {
    const { logger, audit, metrics, take, counted } = observer()
    observeEngine({ logger, audit, metrics })({ kind: 'failed', endpoint: 'token', cause, origin })
    const [line = {}, ...others] = take()
    const { err, ...fields } = line
    t.match(err, { message: 'why' })
    t.strictSame(fields, { ...AUDIT, level, event: 'failed', endpoint: 'token', msg })
    t.strictSame(others, [])
    t.strictSame(await counted(), [])
  }
})

t.test('observeStreams() writes one log line and counts one request for each event', async (t) => {
  const fields = {
    service: 'authorization-server',
    endpoint: 'revocation_stream',
    reason: 'why',
    address: '192.0.2.1',
  }
  for (const [result, line] of [
    ['ok', { level: 'info', event: 'revocation_listener', msg: 'revocation stream opened' }],
    [
      'cut',
      {
        level: 'warn',
        event: 'revocation_listener_cut',
        msg: 'revocation stream closed: the gateway reads too slowly',
      },
    ],
    ['invalid_client', { level: 'warn', event: 'refused', error: 'invalid_client', msg: 'request rejected' }],
    [
      'temporarily_unavailable',
      { level: 'warn', event: 'refused', error: 'temporarily_unavailable', msg: 'request rejected' },
    ],
  ] as const) {
    const { logger, metrics, take, counted } = observer()
    observeStreams({ logger, metrics })({ result, reason: 'why', address: '192.0.2.1' })
    t.strictSame(take(), [{ ...fields, ...line }])
    t.strictSame(await counted(), [
      `scopegate_oauth_requests_total{endpoint="revocation_stream",grant_type="-",result="${result}"} 1`,
    ])
  }
})

t.test(
  'observeAdministration() writes one audit line per change, and counts ended grants and sessions',
  async (t) => {
    for (const [action, series] of [
      ['account_disabled', []],
      ['grant_revoked', ['scopegate_oauth_grants_ended_total{reason="operator"} 1']],
      ['session_ended', ['scopegate_oauth_sessions_ended_total 1']],
    ] as const) {
      const { audit: writeAudit, metrics, take, counted } = observer()
      observeAdministration({ audit: writeAudit, metrics })({ action, accountId: 'account-1' })
      const { request_id: _id, 'client.address': _address, ...audit } = AUDIT
      const line = { ...audit, action, actor: 'operator', subject: 'account-1' }
      t.strictSame(take(), [{ ...line, msg: action.replaceAll('_', ' ') }])
      t.strictSame(await counted(), series)
    }
  },
)

t.test('auditAccount() writes the audit line of an account', async (t) => {
  const { audit: writeAudit, take } = observer()
  auditAccount(writeAudit, 'account_added', { id: 'id-1', username: 'carol' }, 'operator')
  auditAccount(writeAudit, 'account_removed', { id: 'id-1', username: 'carol' }, 'development')
  const { request_id: _id, 'client.address': _address, ...audit } = AUDIT
  const line = { ...audit, subject: 'id-1', username: 'carol' }
  t.strictSame(take(), [
    { ...line, action: 'account_added', account_origin: 'operator', msg: 'account added' },
    { ...line, action: 'account_removed', account_origin: 'development', msg: 'account removed' },
  ])
})
