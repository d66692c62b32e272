import t from 'tap'
import { NO_EARLIER_STATUS, type TokenStatus } from '../../../gateway/tokens/cache/token-status.ts'
import type { Issuer } from '../../../gateway/tokens/issuer.ts'
import { resolveIssuer } from '../../../gateway/tokens/resolve-issuer.ts'
import { aCaller } from '../../fixtures/a-caller.ts'
import { part } from '../../fixtures/jws.ts'

const GOOD: TokenStatus = { active: true, caller: aCaller() }
const fault = (reason: 'inactive' | 'wrong_issuer' | 'expired'): TokenStatus =>
  reason === 'expired'
    ? { active: false, fault: { reason, secondsAgo: 1 } }
    : { active: false, fault: { reason } }

/** Creates an issuer with fixed results. `asked` collects the calls. */
function anIssuer(
  asked: string[],
  name: string,
  ways: { verify?: TokenStatus; introspect?: TokenStatus | Error },
): Issuer {
  const { verify, introspect } = ways
  return {
    issuer: name,
    id: name,
    verify: verify && (async () => (asked.push(`${name} verifies`) ? verify : verify)),
    introspect:
      introspect &&
      (async () => {
        asked.push(`${name} answers`)
        if (introspect instanceof Error) throw introspect
        return { status: introspect, ageMs: 0, ttlMs: Infinity }
      }),
    ready: true,
    close: async () => undefined,
  }
}

const jwtOf = (iss: unknown) => `${part({ alg: 'ES256' })}.${part({ iss })}.${part('signature')}`

async function ask(token: string, issuers: readonly Issuer[]): Promise<TokenStatus> {
  const check = resolveIssuer(token, issuers)
  return check.kind === 'known'
    ? check.status
    : (await check.validate(Infinity, [], NO_EARLIER_STATUS, undefined)).status
}

t.test('only the issuer in iss validates a JWT', async (t) => {
  const asked: string[] = []
  const issuers = [
    anIssuer(asked, 'https://a.test', { verify: fault('inactive'), introspect: GOOD }),
    anIssuer(asked, 'https://b.test', { verify: GOOD, introspect: GOOD }),
  ]
  t.equal(await ask(jwtOf('https://b.test'), issuers), GOOD)
  t.match(await ask(jwtOf('https://a.test'), issuers), fault('inactive'))
  t.same(asked, ['https://b.test verifies', 'https://a.test verifies'])
  for (const iss of ['https://c.test', 'https://a.test/', undefined, null, ['https://a.test']])
    t.match(await ask(jwtOf(iss), issuers), fault('wrong_issuer'))
  t.equal(asked.length, 2, 'no other issuer was called')
})

t.test('an issuer without jwt introspects its JWTs', async (t) => {
  const asked: string[] = []
  const issuers = [
    anIssuer(asked, 'https://a.test', { introspect: GOOD }),
    anIssuer(asked, 'https://b.test', { introspect: GOOD }),
  ]
  t.equal(await ask(jwtOf('https://b.test'), issuers), GOOD)
  t.same(asked, ['https://b.test answers'])
})

t.test(
  'an opaque token is introspected at the issuers in order until one issuer reports it as active',
  async (t) => {
    const asked: string[] = []
    const issuers = [
      anIssuer(asked, 'a', { verify: GOOD }),
      anIssuer(asked, 'b', { introspect: fault('inactive') }),
      anIssuer(asked, 'c', { introspect: GOOD }),
      anIssuer(asked, 'd', { introspect: GOOD }),
    ]
    t.equal(await ask('opaque', issuers), GOOD)
    t.same(asked, ['b answers', 'c answers'])
  },
)

t.test('a specific fault of one issuer takes precedence over inactive', async (t) => {
  const knows = anIssuer([], 'a', { introspect: fault('expired') })
  const knowsNot = anIssuer([], 'b', { introspect: fault('inactive') })
  t.match(await ask('opaque', [knows, knowsNot]), fault('expired'))
  t.match(await ask('opaque', [knowsNot, knows]), fault('expired'))
})

t.test('an issuer that does not respond does not count as inactive', async (t) => {
  const away = anIssuer([], 'a', { introspect: new Error('away') })
  await t.rejects(ask('opaque', [away, anIssuer([], 'b', { introspect: fault('inactive') })]), {
    message: 'away',
  })
  t.equal(await ask('opaque', [away, anIssuer([], 'b', { introspect: GOOD })]), GOOD)
})

t.test(
  'without an introspection issuer, an opaque token is wrong_issuer, and a malformed JWT is malformed',
  async (t) => {
    const asked: string[] = []
    t.match(await ask('opaque', [anIssuer(asked, 'a', { verify: GOOD })]), fault('wrong_issuer'))
    t.match(await ask('eyJ.e30.', [anIssuer(asked, 'a', { verify: GOOD, introspect: GOOD })]), {
      fault: { reason: 'malformed' },
    })
    t.same(asked, [])
  },
)
