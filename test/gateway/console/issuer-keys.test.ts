import t from 'tap'
import type { ConsoleState } from '../../../gateway/console/console-source.ts'
import { createHistory } from '../../../gateway/console/history.ts'
import { listKeys, mergeKeys } from '../../../gateway/console/issuer-key-list.ts'
import { issuersPage } from '../../../gateway/console/issuers-page.ts'
import { readJwks } from '../../../gateway/tokens/jwt/read-jwks.ts'
import { startGatewayUnderTest } from '../../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../../fixtures/a-jwt-config.ts'
import { startJwtIssuer } from '../../fixtures/a-jwt-issuer.ts'
import { aKey } from '../../fixtures/jwk.ts'
import { send } from '../../fixtures/send.ts'
import { until } from '../../fixtures/until.ts'

t.test('the page of issuers shows the keys before and after a rotation, with hostile key IDs', async (t) => {
  const jwtIssuer = await startJwtIssuer()
  t.teardown(jwtIssuer.close)
  const { gateway } = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: [aJwtIssuerConfig(jwtIssuer.issuer, { refreshMs: 1_000, algorithms: ['ES256', 'RS256'] })],
    }),
  })
  const pageUrl = `${gateway.managementUrl}/console/issuers`
  const keys = async () => {
    const { json } = await send(`${pageUrl}?format=json`)
    const [issuer] = json['issuers'] as readonly { readonly keys: { readonly list: readonly object[] } }[]
    return issuer?.keys
  }
  t.match(await keys(), {
    list: [{ kid: 'key-1', algorithm: 'ES256', type: 'EC, P-256', use: 'sig', processes: 1 }],
    more: 0,
    processes: 1,
  })
  jwtIssuer.rotate()
  await until('the new key is in the list', async () => (await keys())?.list.length === 2)
  t.match(await keys(), { list: [{ kid: 'key-1' }, { kid: 'key-2' }] })

  const { jwk } = aKey('RS256', `\u202e<img src=x>${'k'.repeat(500)}`, { alg: undefined, use: undefined })
  const others = Array.from(
    { length: 24 },
    (_, index) => aKey('ES256', `other-${index}`, index < 2 ? { kid: undefined } : {}).jwk,
  )
  // The page does not show the last characters of these two key IDs.
  jwtIssuer.publish([jwk, { ...jwk, kid: `${jwk['kid']}k` }, ...others])
  await until('all keys are in the list', async () => (await keys())?.list.length === 20)
  const { list, more } = (await keys()) as { readonly list: readonly object[]; readonly more: number }
  t.match(list[0], {
    kid: new RegExp(`^<img src=x>k{${100 - '<img src=x>'.length - 1}}…$`),
    algorithm: null,
    type: 'RSA, 2048 bits',
    use: null,
    processes: 1,
  })
  t.match(list.slice(1, 4), [{ kid: null }, { kid: null }, { kid: 'other-2' }])
  t.equal(more, 5)
  const { text } = await send(pageUrl)
  t.match(text, '<code>&#60;img src=x&#62;kkk')
  t.match(text, '5 more keys')
  t.notMatch(text, '<img')
  t.notMatch(text, String(jwk['n']), 'no key material')
})

t.test('a card counts one response of an introspection endpoint in the singular', async (t) => {
  const page = issuersPage({
    config: { issuers: [aJwtIssuerConfig('https://issuer.test')] },
    history: async () => createHistory(0),
    decisions: { keys: async () => ({ byIssuer: new Map(), processes: 1 }) },
    nowMs: () => 0,
  } as unknown as ConsoleState)
  const query = new URLSearchParams()
  const {
    issuers: [issuer],
    ...rest
  } = (await page.data(query)) ?? { issuers: [] }
  for (const [answered, text] of [
    [1, '1 response, 0 failed'],
    [2, '2 responses, 0 failed'],
  ] as const) {
    const row = { ...issuer, introspection: { answered, failed: 0, waiting: 0 } }
    const data = { ...rest, issuers: [row] } as Parameters<typeof page.render>[0]
    t.match(page.render(data, query).toString(), text)
  }
})

t.test('a key that only some workers have is marked', async (t) => {
  const { keys } = readJwks(
    { keys: ['a', 'b'].map((kid) => aKey('ES256', kid).jwk) },
    new Set(['ES256']),
  ) ?? {
    keys: [],
  }
  const issuer = 'https://issuer.test'
  const listOf = (current: typeof keys) => listKeys([{ issuer, keys: { current } }])
  const page = issuersPage({
    config: { issuers: [aJwtIssuerConfig(issuer)] },
    history: async () => createHistory(0),
    decisions: {
      keys: async () => ({ byIssuer: mergeKeys([listOf(keys.slice(0, 1)), listOf(keys)]), processes: 2 }),
    },
    nowMs: () => 0,
  } as unknown as ConsoleState)
  const query = new URLSearchParams()
  const data = await page.data(query)
  const markup = data === undefined ? '' : page.render(data, query).toString()
  t.match(
    markup,
    /<code>a<\/code>.*data-title="Workers"><div>all<.*<code>b<\/code>.*data-state="notice">1 of 2</s,
  )
})
