import t from 'tap'
import type { TokenStatus } from '../../../../gateway/tokens/cache/token-status.ts'
import type { WebsocketSession } from '../../../../gateway/upstreams/websocket/session.ts'
import { createWebsocketSessions } from '../../../../gateway/upstreams/websocket/sessions.ts'
import { aCaller } from '../../../fixtures/a-caller.ts'
import { until } from '../../../fixtures/until.ts'

t.test(
  'a wall clock that jumps forward ends sessions with expired tokens, and a jump back ends no session',
  async (t) => {
    const clock = { ms: 1_800_000_000_000, looks: 0 }
    const closed: string[] = []
    const ended = Promise.withResolvers<void>()
    const sessions = createWebsocketSessions({
      maxSessions: 10,
      maxSessionsPerCaller: 10,
      recheckMs: 5,
      graceMs: 30_000,
      staleIfErrorMs: () => 60_000,
      isPushed: () => true,
      validate: () => ({ active: true, caller: aCaller({}) }),
      nowMs: () => {
        clock.looks += 1
        return clock.ms
      },
      tickMs: () => performance.now(),
    })
    t.teardown(() => sessions.close())
    const open = (name: string, lifetimeSeconds: number): void => {
      const slot = sessions.reserve(name)
      if ('rejected' in slot) throw new Error(slot.rejected)
      t.teardown(slot.release)
      slot.opened({
        session: {
          close(code: number, reason: string) {
            closed.push(`${name} ${code} ${reason}`)
            slot.release()
            ended.resolve()
          },
        } as unknown as WebsocketSession,
        identity: {
          token: name,
          issuers: [],
          caller: aCaller({ expiresAtSeconds: clock.ms / 1_000 + lifetimeSeconds }),
          hasAccess: () => true,
        },
      })
    }
    open('an hour', 3_600)
    open('two hours', 7_200)
    clock.ms -= 3_600_000
    const before = clock.looks
    await until('both were checked again', async () => clock.looks >= before + 4)
    t.same(closed, [])
    clock.ms += 2 * 3_600_000
    await ended.promise
    t.same(closed, ['an hour 1008 token expired'])
    t.equal(sessions.size, 1)
  },
)

t.test('a session is checked again while revocations of its token may be missing', async (t) => {
  const inGap = aCaller({ subject: 'in the gap' })
  const current = aCaller({ subject: 'current' })
  let status: TokenStatus = { active: true, caller: current }
  const sessions = createWebsocketSessions({
    maxSessions: 10,
    maxSessionsPerCaller: 10,
    recheckMs: 5,
    graceMs: 30_000,
    staleIfErrorMs: () => 60_000,
    isPushed: (caller) => caller !== inGap,
    validate: () => status,
    nowMs: () => 0,
    tickMs: () => performance.now(),
  })
  t.teardown(() => sessions.close())
  const closed: string[] = []
  for (const caller of [inGap, current]) {
    const slot = sessions.reserve(`${caller.subject}`)
    if ('rejected' in slot) throw new Error(slot.rejected)
    t.teardown(slot.release)
    slot.opened({
      session: {
        close(code: number, reason: string) {
          closed.push(`${caller.subject}: ${code} ${reason}`)
          slot.release()
        },
      } as unknown as WebsocketSession,
      identity: { token: 'a', issuers: [], caller, hasAccess: () => true },
    })
  }
  await new Promise((resolve) => setImmediate(resolve)) // waits for the validation of each session after it opened
  t.same(closed, [])
  status = { active: false, fault: { reason: 'inactive' } }
  await until('the session is closed', async () => closed.length > 0)
  t.same(closed, ['in the gap: 1008 token no longer valid'])
})
