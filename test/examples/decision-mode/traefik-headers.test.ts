import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { MANAGED_HEADERS } from '../../../policy-engine/match/managed-headers.ts'
import { EXAMPLES } from './ingress.ts'

/** Traefik itself removes these headers of a client, and sets its own values. */
const SET_BY_TRAEFIK = /^x-(?:forwarded-(?:for|host|port|proto|server)|real-ip)$/

t.test('the pattern of the example for Traefik matches every header that the proxy drops', async (t) => {
  const { http } = parse(readFileSync(join(EXAMPLES, 'traefik/routes.yaml'), 'utf8'))
  const pattern = String(http.middlewares.decide.forwardAuth.authResponseHeadersRegex)
  t.match(pattern, /^\(\?i\)\^/)
  const removed = new RegExp(pattern.slice('(?i)'.length), 'i')
  const names = MANAGED_HEADERS.flatMap(({ names = [], prefixes = [] }) => [
    ...names,
    ...prefixes.map((prefix) => `${prefix}x`),
  ])
  // The pattern has no negative lookahead, so it lists each character after which another name begins.
  const others = ['for', 'host', 'port', 'proto', 'server'].flatMap((name) =>
    Array.from({ length: name.length + 1 }, (_, end) => name.slice(0, end)).flatMap((start) => [
      start,
      `${start}x`,
    ]),
  )
  const forwarded = others.map((name) => `x-forwarded-${name}`)
  for (const name of [...names, ...forwarded, 'X-Auth-Subject', 'x-scopegate-x'])
    t.ok(SET_BY_TRAEFIK.test(name) || removed.test(name), name)
  for (const name of ['accept', 'host', 'x-forwarded-for', 'x-forwarded-proto', 'x-real-ip', 'x-debug'])
    t.notOk(removed.test(name), name)
})
