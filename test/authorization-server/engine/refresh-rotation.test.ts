import { join } from 'node:path'
import { errors, Provider, type TokenEndpointGrantContext } from 'oidc-provider'
import t, { type Test } from 'tap'
import {
  createRefreshRotation,
  type Rotation,
} from '../../../authorization-server/engine/refresh-rotation.ts'
import { openSqliteStore } from '../../../authorization-server/store/sqlite-store.ts'
import type { ArtifactWrite } from '../../../authorization-server/store/store.ts'
import { aProof, aProofKey } from '../../fixtures/dpop-proof.ts'
import { TOKEN_SETTINGS } from '../../fixtures/token-settings.ts'

const SUCCESSOR = {
  model: 'RefreshToken',
  id: 'successor',
  payload: { jti: 'successor' },
  expiresInSeconds: 60,
}
/** The ID of the stored response. The ID depends only on the token and the issuer, so all replicas use the same ID. */
const RESPONSE_ID = 'AdjRu9V_nxKom4Ptmn4NcQEni1gHSodheKCovTqHa2I'
const BODY = '{"access_token":"access","refresh_token":"successor"}'

/** Creates a rotation with a real store that contains the refresh token `token`. */
async function open(t: Test, { repeatWindowSeconds = 30 } = {}) {
  const clock = { now: 1_000 }
  const store = openSqliteStore(join(t.testdir(), 'store.sqlite'), {
    ...TOKEN_SETTINGS,
    nowSeconds: () => clock.now,
  })
  t.teardown(() => store.close())
  const exchanges: (readonly ArtifactWrite[])[] = []
  const rotation = createRefreshRotation({
    store: {
      artifacts: store.artifacts,
      exchange: (used, writes) => {
        exchanges.push(writes)
        return store.exchange(used, writes)
      },
    },
    issuer: 'https://login.example.com',
    repeatWindowSeconds,
    nowSeconds: () => clock.now,
  })
  let current: TokenEndpointGrantContext | undefined
  t.intercept(Provider, 'ctx', { get: () => current, configurable: true })
  const owned = { clientId: 'client-1', grantId: 'grant-1', accountId: 'account-1' }
  await store.artifacts('RefreshToken').upsert('token', { jti: 'token', ...owned }, 600)
  await store.artifacts('Grant').upsert('grant-1', { jti: 'grant-1' }, 600)

  const context = (params: object = {}, { clientId = 'client-1', proof = '' } = {}) => {
    const entities: unknown[] = []
    const emitted: unknown[] = []
    const ctx = {
      body: undefined as unknown,
      type: '',
      get: (name: string) => (name === 'DPoP' ? proof : ''),
      oidc: {
        params: { refresh_token: 'token', ...params },
        client: { clientId },
        entities: {},
        entity: (...entity: unknown[]) => void entities.push(entity),
        provider: {
          emit: (name: string, _ctx: unknown, grantId: string) => void emitted.push([name, grantId]),
        },
      },
    }
    return {
      ctx: ctx as unknown as TokenEndpointGrantContext & { body: unknown; type: string },
      entities,
      emitted,
    }
  }
  /** Simulates the engine: reads, checks and consumes the token, and then writes its successor. */
  const handler = async (ctx: TokenEndpointGrantContext): Promise<void> => {
    current = ctx
    const running = rotation.current() as Rotation
    const stored = running.present(await store.artifacts('RefreshToken').find('token'))
    if (stored === undefined || stored['clientId'] !== ctx.oidc.client.clientId)
      throw new errors.InvalidGrant('client mismatch')
    running.consume()
    running.write(SUCCESSOR)
    ctx.body = JSON.parse(BODY)
  }
  const refresh = async (...args: Parameters<typeof context>) => {
    const { ctx, ...seen } = context(...args)
    const error = await rotation
      .wrap(handler)(ctx)
      ?.then(
        () => undefined,
        (thrown: Record<string, unknown>) => thrown,
      )
    return { ctx, error, isRepeat: rotation.isRepeat(ctx), ...seen }
  }
  const handle = (ctx: TokenEndpointGrantContext) => {
    current = ctx
    return rotation.current()
  }
  return { clock, store, rotation, exchanges, context, refresh, handle }
}

t.test(
  'the first use of a refresh token writes the successor and the sealed response in one step',
  async (t) => {
    const { exchanges, refresh, store } = await open(t)
    const first = await refresh()
    t.equal(first.error, undefined)
    t.equal(first.isRepeat, false)
    t.equal(first.ctx.body, BODY)
    t.equal(first.ctx.type, 'application/json; charset=utf-8')
    const [[successor, response, ...more] = []] = exchanges
    t.strictSame(successor, SUCCESSOR)
    t.strictSame(more, [])
    const { sealed, ...owner } = (response?.payload ?? {}) as Record<string, unknown>
    t.strictSame(owner, { grantId: 'grant-1', accountId: 'account-1' })
    t.match(sealed, /^[\w-]{100,}$/)
    t.strictSame(
      { ...response, payload: {} },
      { model: 'RefreshResponse', id: RESPONSE_ID, payload: {}, expiresInSeconds: 30 },
    )
    t.match(await store.artifacts('RefreshToken').find('token'), { consumed: 1_000 })
  },
)
t.test('a repeated use of a refresh token gets the same response bytes, and changes no data', async (t) => {
  const { exchanges, refresh } = await open(t)
  await refresh({ scope: 'b a', resource: 'https://r.test' })
  const repeat = await refresh({ scope: 'a b', resource: 'https://r.test' })
  t.equal(repeat.error, undefined)
  t.equal(repeat.isRepeat, true)
  t.equal(repeat.ctx.body, BODY)
  t.equal(repeat.ctx.type, 'application/json; charset=utf-8')
  t.equal(exchanges.length, 1)
  t.strictSame([repeat.entities, repeat.emitted], [[], []])
})

t.test('a repeated use for another scope, resource or key is rejected, and the grant stays', async (t) => {
  const { refresh, store } = await open(t)
  const asked = { scope: 'a b', resource: 'https://r.test' }
  const key = aProofKey()
  const proof = (by = key) => aProof({ key: by, url: 'https://login.example.com', token: '' })
  await refresh(asked, { proof: proof() })
  const OTHER =
    'The refresh token was already used with another scope or resource. Repeat that request, or use the newest refresh token.'
  for (const [params, by] of [
    [{ ...asked, scope: 'a' }, proof()],
    [{ ...asked, scope: undefined }, proof()],
    [{ ...asked, resource: undefined }, proof()],
    [asked, proof(aProofKey())],
    [asked, ''],
  ] as const) {
    const { error, isRepeat } = await refresh(params, { proof: by })
    t.match(error, { error: 'invalid_grant', error_description: OTHER })
    t.equal(isRepeat, false)
  }
  t.equal((await refresh(asked, { proof: proof() })).ctx.body, BODY, 'another proof by the same key')
  t.ok(await store.artifacts('Grant').find('grant-1'))
})

t.test(
  'a repeated use after a use or the end of the successor is rejected, and the grant stays',
  async (t) => {
    for (const end of ['consume', 'destroy'] as const) {
      const { refresh, store } = await open(t)
      await refresh()
      await store.artifacts('RefreshToken')[end]('successor')
      t.match((await refresh()).error, {
        error: 'invalid_grant',
        error_description:
          'The refresh token and its successor were already used. Use the newest refresh token.',
      })
      t.ok(await store.artifacts('Grant').find('grant-1'))
    }
  },
)

t.test('§4.14.2 of RFC 9700: a use after the repeat window ends the grant', async (t) => {
  const { clock, refresh, store } = await open(t)
  await refresh()
  clock.now = 1_029
  t.equal((await refresh()).ctx.body, BODY)
  clock.now = 1_030
  const late = await refresh()
  t.match(late.error, { error: 'invalid_grant', error_detail: 'refresh token already used' })
  t.match(late.entities, [['RefreshToken', { jti: 'token', accountId: 'account-1', consumed: 1_000 }]])
  t.strictSame(late.emitted, [['grant.revoked', 'grant-1']])
  t.equal(await store.artifacts('Grant').find('grant-1'), undefined)
  const again = await refresh()
  t.match(again.error, { error: 'invalid_grant' })
  t.strictSame(again.emitted, [], 'the grant has ended')
})

t.test('a use by another client ends the grant only after the first use', async (t) => {
  const { refresh, store } = await open(t)
  const early = await refresh({}, { clientId: 'client-2' })
  t.match([early.error, early.emitted], [{ error_detail: 'client mismatch' }, []])
  await refresh()
  const late = await refresh({}, { clientId: 'client-2' })
  t.match(late.error, { error_detail: 'client mismatch' })
  t.strictSame(late.emitted, [['grant.revoked', 'grant-1']])
  t.equal(await store.artifacts('Grant').find('grant-1'), undefined)
})

t.test('without a repeat window no response is stored, and a second use ends the grant', async (t) => {
  const { exchanges, refresh } = await open(t, { repeatWindowSeconds: 0 })
  await refresh()
  t.strictSame(exchanges, [[SUCCESSOR]])
  t.strictSame((await refresh()).emitted, [['grant.revoked', 'grant-1']])
})

t.test(
  'the rotation applies only to a request with a refresh token, and only during this request',
  async (t) => {
    const { context, rotation, exchanges, handle } = await open(t)
    t.equal(rotation.current(), undefined, 'outside a request')
    const { ctx } = context({ refresh_token: undefined })
    let seen: unknown = 'not called'
    await rotation.wrap(() => {
      seen = handle(ctx)
    })(ctx)
    t.equal(seen, undefined)
    t.strictSame(exchanges, [])
    t.strictSame([ctx.body, rotation.isRepeat(ctx)], [undefined, false])
  },
)

t.test('an error of the handler is the result, and the rotation does not store its request', async (t) => {
  const { context, rotation, exchanges, handle } = await open(t)
  const { ctx } = context()
  await t.rejects(
    rotation.wrap(async () => {
      throw new Error('a defect')
    })(ctx) as Promise<void>,
    { message: 'a defect' },
  )
  t.equal(handle(ctx), undefined)
  t.strictSame(exchanges, [])
})

t.test('a token that is removed during its refresh counts as used, and its grant stays', async (t) => {
  const { context, handle, rotation, store } = await open(t)
  const { ctx, emitted } = context()
  const refreshed = rotation.wrap(async () => {
    handle(ctx)?.present(await store.artifacts('RefreshToken').find('token'))
    await store.artifacts('RefreshToken').destroy('token')
  })(ctx) as Promise<void>
  await t.rejects(refreshed, { message: 'invalid_grant', error_detail: 'refresh token already used' })
  t.strictSame(emitted, [])
})

t.test('a handler that does not read the token stores a response without an owner', async (t) => {
  const { context, rotation, exchanges } = await open(t)
  const { ctx } = context()
  await rotation.wrap(() => {
    ctx.body = {}
  })(ctx)
  const [[response] = []] = exchanges
  t.match(response?.payload, { grantId: undefined, accountId: undefined, sealed: String })
})
