import t from 'tap'
import { reserveSession } from '../../../gateway/pipeline/open-websocket.ts'
import type { RequestContext } from '../../../gateway/pipeline/request-context.ts'
import type { UpgradedConnection } from '../../../gateway/server/upgraded-connection.ts'
import type { SessionSlot } from '../../../gateway/upstreams/websocket/sessions.ts'
import { aCaller } from '../../fixtures/a-caller.ts'

function countedAs(caller: Parameters<typeof aCaller>[0] | undefined): string {
  let name = ''
  const reserve = (who: string): SessionSlot => {
    name = who
    return { opened: () => undefined, release: () => undefined }
  }
  const context = {
    request: { headers: { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' } },
    caller: caller === undefined ? undefined : aCaller(caller),
    clientAddress: '203.0.113.9',
    services: { sessions: { reserve } },
  } as unknown as RequestContext
  reserveSession(context, { early: false } as UpgradedConnection)
  return name
}

t.test('the session limit of a caller counts sessions by the pair of issuer and subject', async (t) => {
  const names = [
    countedAs(undefined),
    countedAs({ subject: 'alice' }),
    countedAs({ subject: 'alice', issuer: 'https://other.test' }),
    countedAs({ subject: '203.0.113.9' }),
  ]
  t.equal(new Set(names).size, names.length)
  t.equal(countedAs({ subject: 'alice' }), countedAs({ subject: 'alice', clientId: 'another client' }))
})
