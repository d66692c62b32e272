import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Provider } from 'oidc-provider'
import t from 'tap'
import type { EngineEvent } from '../../../authorization-server/engine/engine-events.ts'
import { reportProviderEvents } from '../../../authorization-server/engine/provider-events.ts'

const origin = { requestId: 'request-1', clientAddress: '192.0.2.7' }
const HASH = 'K7gNU3sdo-OL0wNhqoVWhr3g6s1xYv72ol_pe_Unols' // hash of the grant ID `secret`

/** Returns an event emitter in place of the engine, and the events that the code under test reports. */
function observe(isRepeat = false) {
  const provider = new EventEmitter()
  const events: EngineEvent[] = []
  const failures = reportProviderEvents(provider as unknown as Provider, {
    onEvent: (event) => events.push(event),
    isRepeat: () => isRepeat,
    originOf: () => origin,
  })
  return { provider, events, failures }
}
const aContext = (oidc: object = {}) => ({
  req: {} as IncomingMessage,
  oidc: { route: 'token', client: { clientId: 'client-1' }, params: {}, entities: {}, ...oidc },
})

t.test('each error event of the engine is reported as a rejection at its endpoint', async (t) => {
  for (const [name, endpoint] of [
    ['authorization.error', 'authorization'],
    ['pushed_authorization_request.error', 'pushed_authorization_request'],
    ['grant.error', 'token'],
    ['registration_create.error', 'registration'],
    ['revocation.error', 'revocation'],
    ['introspection.error', 'introspection'],
  ] as const) {
    const { provider, events, failures } = observe()
    const [one, other] = [aContext(), aContext({ client: undefined })]
    provider.emit(name, one, { error: 'a_code', error_detail: 'detail', error_description: 'description' })
    provider.emit(name, other, { error: 'b_code', error_description: 'description' })
    const fields = { kind: 'rejected', endpoint, origin }
    t.strictSame(events, [
      { ...fields, error: 'a_code', detail: 'detail', clientId: 'client-1' },
      { ...fields, error: 'b_code', detail: 'description', clientId: undefined },
    ])
    t.strictSame(failures.get(one.req), { error: 'a_code', cause: undefined })
    t.strictSame(failures.get(other.req), { error: 'b_code', cause: undefined })
  }
})

t.test('a defect or an outage is reported as a failure with its cause', async (t) => {
  const { provider, events, failures } = observe()
  const cause = new Error('a defect')
  const ctx = aContext({ route: 'registration' })
  provider.emit('server_error', ctx, cause)
  provider.emit('error', cause)
  t.strictSame(failures.get(ctx.req), { error: 'server_error', cause })
  t.strictSame(events, [
    { kind: 'failed', endpoint: 'registration', cause, origin },
    { kind: 'failed', endpoint: 'connection', cause, origin: undefined },
  ])
})

t.test('a registration is reported with its redirect URIs', async (t) => {
  const { provider, events } = observe()
  provider.emit('registration_create.success', aContext(), { clientId: 'new', redirectUris: ['http://a/'] })
  provider.emit('registration_create.success', aContext(), { clientId: 'new' })
  t.strictSame(events, [
    { kind: 'client_registered', clientId: 'new', redirectUris: ['http://a/'], origin },
    { kind: 'client_registered', clientId: 'new', redirectUris: [], origin },
  ])
})

t.test('a token response is reported as an issue, a refresh or a repeat', async (t) => {
  const { provider, events } = observe()
  const AccessToken = { accountId: 'account-1', scope: 'openid', grantId: 'secret' }
  const params = { grant_type: 'refresh_token' }
  provider.emit('grant.success', aContext({ entities: { AccessToken } }))
  provider.emit('grant.success', aContext({ entities: { AccessToken }, params }))
  provider.emit('grant.success', aContext({ client: undefined, params: undefined }))
  provider.emit('grant.success', aContext({ entities: { AccessToken: { accountId: 'account-1' } } }))
  const fields = { clientId: 'client-1', accountId: 'account-1', scope: 'openid', grant: HASH, origin }
  t.strictSame(events, [
    { kind: 'token_issued', ...fields },
    { kind: 'token_refreshed', ...fields },
    {
      kind: 'token_issued',
      ...fields,
      clientId: '',
      accountId: undefined,
      scope: undefined,
      grant: undefined,
    },
    { kind: 'token_issued', ...fields, scope: undefined, grant: undefined },
  ])
})

t.test('a repeated refresh is reported with the account and grant of the refresh token', async (t) => {
  const { provider, events } = observe(true)
  const RefreshToken = { accountId: 'account-1', grantId: 'secret' }
  provider.emit('grant.success', aContext({ entities: { RefreshToken } }))
  provider.emit('grant.success', aContext({ client: undefined }))
  provider.emit('grant.success', aContext({ entities: { RefreshToken: {} } }))
  const fields = { kind: 'refresh_repeated', origin }
  t.strictSame(events, [
    { ...fields, clientId: 'client-1', accountId: 'account-1', grant: HASH },
    { ...fields, clientId: '', accountId: undefined, grant: undefined },
    { ...fields, clientId: 'client-1', accountId: undefined, grant: undefined },
  ])
})

t.test('the end of a grant is reported with its reason and the account of its code or token', async (t) => {
  const { provider, events } = observe()
  const [code, refresh, access] = ['code', 'refresh', 'access'].map((accountId) => ({ accountId }))
  const revoke = (oidc: object) => provider.emit('grant.revoked', aContext(oidc), 'secret')
  revoke({ route: 'revocation', entities: { AccessToken: access } })
  revoke({ route: 'token', entities: { RefreshToken: refresh, AccessToken: access } })
  revoke({ params: { grant_type: 'refresh_token' }, entities: { RefreshToken: refresh } })
  revoke({ entities: { AuthorizationCode: code, RefreshToken: refresh } })
  revoke({ route: 'authorization', client: undefined, params: undefined })
  revoke({ route: 'token', params: undefined })
  const fields = { kind: 'grant_revoked', grant: HASH, origin }
  t.strictSame(
    events,
    [
      ['revoked', 'access', 'client-1'],
      ['code_reused', 'refresh', 'client-1'],
      ['refresh_token_reused', 'refresh', 'client-1'],
      ['code_reused', 'code', 'client-1'],
      ['grant_ended', undefined, undefined],
      ['code_reused', undefined, 'client-1'],
    ].map(([reason, accountId, clientId]) => ({ ...fields, reason, accountId, clientId })),
  )
})
