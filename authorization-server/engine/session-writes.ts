import { errors, Provider } from 'oidc-provider'
import { readEndMark } from '../store/end-sessions.ts'
import type { Store } from '../store/store.ts'

/** Members of the engine's session that its types omit. */
type EngineSession = {
  jti: string
  accountId?: string
  exp?: number
  /** The ID in the store, if the request changes the ID. */
  oldId?: string | undefined
  touched: boolean
  /** The account of the stored session. Undefined: the session is not stored, or no person is signed in. */
  storedAccountId?: string | undefined
  getValueAndPayload(): Promise<{ readonly payload: object }>
}

type SessionModel = {
  find(this: SessionModel, ...args: unknown[]): Promise<EngineSession | undefined>
  readonly prototype: { save(this: EngineSession, ttl: number): Promise<unknown> }
}

/**
 * Makes the engine write only sessions that have not ended. The engine writes the session at the end of each
 * authorization request, and would restore a session that ended during the request.
 * - The engine replaces a session with the same ID only if the session exists.
 * - A new ID is written first. If the earlier ID does not exist any more, the session has ended.
 * - A new sign-in is written first. If the end mark of the account changed since the sign-in, the session has ended.
 *
 * The end of a session removes the session first, and then lists again. In each order of the steps, one of the two
 * sides therefore finds the other. This needs no transaction over several artifacts, so it holds on every store.
 */
export function protectEndedSessions(provider: Provider, store: Pick<Store, 'artifacts'>): void {
  const sessions = store.artifacts('Session')
  const model = provider.Session as unknown as SessionModel
  const { find } = model
  const { save } = model.prototype

  model.find = async function findSession(...args) {
    const session = await find.apply(this, args)
    if (session !== undefined) setStored(session)
    return session
  }

  async function write(session: EngineSession, ttlSeconds: number, endMark: unknown): Promise<boolean> {
    const { accountId = '', jti, oldId, storedAccountId } = session
    const { payload } = await session.getValueAndPayload()
    if (storedAccountId !== undefined && oldId === undefined) {
      if (!(await sessions.replace(jti, payload, ttlSeconds))) return false
    } else {
      await sessions.upsert(jti, payload, ttlSeconds)
      const existed = oldId === undefined || (await sessions.destroy(oldId))
      if (!existed && storedAccountId !== undefined) {
        await sessions.destroy(jti)
        return false
      }
    }
    if (endMark === undefined || endMark === (await readEndMark(store, accountId))) return true
    await sessions.destroy(jti)
    return false
  }

  model.prototype.save = async function saveSession(ttlSeconds) {
    const oidc = Provider.ctx?.oidc
    const login = oidc?.result?.login as { readonly endMark?: unknown } | undefined
    if (this.accountId === undefined) return save.call(this, ttlSeconds)
    this.exp = Math.floor(Date.now() / 1_000) + ttlSeconds
    const isStored = await write(this, ttlSeconds, login && (login.endMark ?? ''))
    this.oldId = undefined
    this.touched = false
    if (isStored) return setStored(this)
    const grantId = oidc?.entities.Grant?.jti
    if (grantId !== undefined) await store.artifacts('Grant').revokeByGrantId(grantId)
    throw new errors.LoginRequired('the session ended during the request')
  }
}

/** Defines the member without the setter of the engine, which would mark the session as changed. */
function setStored(session: EngineSession): void {
  Object.defineProperty(session, 'storedAccountId', { configurable: true, value: session.accountId })
}
