import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JwtIssuer, startJwtIssuer } from '../../test/fixtures/a-jwt-issuer.ts'
import { startIssuer, type TestIssuer } from '../../test/fixtures/an-issuer.ts'
import { aKey } from '../../test/fixtures/jwk.ts'
import { signJws } from '../../test/fixtures/jws.ts'
import type { Cleanup } from '../cleanup.ts'
import { type SoakGateway, startSoakGateway } from './start-soak-gateway.ts'
import type { TokenStream } from './token-traffic.ts'

export type RedisTrafficIssuers = { readonly opaque: TestIssuer; readonly jwts: JwtIssuer }

/** Name of the stream of invalid tokens. The gateway rejects all tokens of this stream. */
export const BAD_STREAM = 'invalid tokens'
/** Name of a stream of opaque tokens. The test revokes some of these tokens during the traffic. */
export const REVOKED_STREAM = 'opaque, some revoked'

const BASE_URL = 'http://127.0.0.1:8080' // the same for every gateway of a soak test
const OPAQUE_ISSUER = 'http://opaque.example'
const SCOPE = 'courses:read'
const RULE = { scopes: { all: [SCOPE] }, anonymous: 'deny' }
/** The number is not a multiple of three, so that each of the three gateways receives every token. */
const KNOWN = 50
const REVOCABLE = 61

/** The issuer of opaque tokens has a revocation stream. */
export async function startTrafficIssuers(cleanup: Cleanup): Promise<RedisTrafficIssuers> {
  const opaque = await startIssuer({ issuer: OPAQUE_ISSUER, audience: BASE_URL })
  const jwts = await startJwtIssuer()
  cleanup.add(() => Promise.all([opaque.close(), jwts.close()]).then(() => undefined))
  return { opaque, jwts }
}

/** Starts a gateway for these issuers. One route requires a token. Another route also has a rate limit. */
export function startTrafficGateway(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly upstream: string
  readonly issuers: RedisTrafficIssuers
  /** Undefined for a gateway without Redis. */
  readonly redisUrl: string | undefined
  readonly stdout: number
}): Promise<SoakGateway> {
  const { opaque, jwts } = options.issuers
  writeFileSync(join(options.folder, 'issuer-secret'), opaque.clientSecret, { mode: 0o600 })
  return startSoakGateway({
    ...options,
    route: RULE,
    moreRoutes: [
      {
        ...RULE,
        name: 'limited',
        match: { methods: ['GET'], path: '/limited' },
        rateLimit: { requests: 1_000_000, per: '1m', by: 'route' },
      },
    ],
    settings: {
      ...(options.redisUrl === undefined ? {} : { redis: { url: options.redisUrl } }),
      issuers: [
        {
          issuer: OPAQUE_ISSUER,
          introspection: {
            endpoint: opaque.endpoint,
            clientId: opaque.clientId,
            clientSecretFile: './issuer-secret',
          },
          revocations: opaque.revocations,
        },
        { issuer: jwts.issuer, jwt: { algorithms: ['ES256'] } },
      ],
    },
  })
}

/**
 * Creates the tokens of every stream. If a stream sends a new token in every request, `uses` is the number of tokens.
 */
export function makeStreams(
  { opaque, jwts }: RedisTrafficIssuers,
  gateways: readonly SoakGateway[],
  uses: number,
): readonly TokenStream[] {
  const many = (count: number, make: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => make(index))
  const sign = (claims: object = {}) => jwts.sign({ aud: BASE_URL, scope: SCOPE, ...claims })
  const store = (token: string, claims: object = {}) => opaque.store(token, { scope: SCOPE, ...claims })
  const at = (path: string) => gateways.map(({ url }) => `${url}${path}`)
  const anywhere = at('/pub/soak')
  return [
    { name: 'JWT, known', urls: anywhere, tokens: many(KNOWN, (index) => sign({ sub: `known-${index}` })) },
    { name: 'JWT, new', urls: anywhere, tokens: many(uses, (index) => sign({ sub: `new-${index}` })) },
    { name: 'rate-limited', urls: at('/limited'), tokens: many(KNOWN, () => sign({ sub: 'limited' })) },
    { name: 'opaque, known', urls: anywhere, tokens: many(KNOWN, (index) => store(`known-${index}`)) },
    { name: 'opaque, new', urls: anywhere, tokens: many(uses, (index) => store(`new-${index}`)) },
    { name: REVOKED_STREAM, urls: anywhere, tokens: many(REVOCABLE, (index) => store(`gone-${index}`)) },
    { name: BAD_STREAM, urls: anywhere, tokens: badTokens({ opaque, jwts }) },
  ]
}

/** Returns invalid tokens: expired, for another audience, revoked, forged, unknown, and without the scope. */
function badTokens({ opaque, jwts }: RedisTrafficIssuers): readonly string[] {
  const anHourAgo = Math.floor(Date.now() / 1_000) - 3_600
  const claims = { aud: BASE_URL, scope: SCOPE }
  const { privateKey } = aKey('ES256', 'a forger')
  const kid = jwts.key().jwk['kid']
  const forged = signJws(
    { alg: 'ES256', typ: 'at+jwt', kid },
    { iss: jwts.issuer, sub: 'root', exp: anHourAgo + 7_200, ...claims },
    privateKey,
  )
  const revoked = opaque.store('bad-revoked', claims)
  opaque.revoke(revoked)
  return [
    jwts.sign({ ...claims, exp: anHourAgo }),
    jwts.sign({ ...claims, aud: 'https://elsewhere.example' }),
    jwts.sign({ ...claims, scope: 'pages:read' }),
    forged,
    revoked,
    opaque.store('bad-expired', { ...claims, exp: anHourAgo }),
    opaque.store('bad-audience', { ...claims, aud: 'https://elsewhere.example' }),
    opaque.store('bad-scope', { ...claims, scope: 'pages:read' }),
    'bad-unknown',
    'bad.unknown',
  ]
}
