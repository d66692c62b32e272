import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:net'
import type { Test } from 'tap'
import { ALGORITHMS } from '../../oauth/jwt/verification-key.ts'
import { BASE_URL, type GatewayUnderTest, startGatewayUnderTest } from '../fixtures/a-gateway.ts'
import { aJwtIssuerConfig } from '../fixtures/a-jwt-config.ts'
import { type JwtIssuer, startJwtIssuer } from '../fixtures/a-jwt-issuer.ts'
import { aKey, publicJwk, type TestKey } from '../fixtures/jwk.ts'

/** A real gateway with the issuers, keys and traps of the attacks. */
export type World = {
  readonly under: GatewayUnderTest
  /** Signs with every algorithm. The type of its access tokens is `at+jwt`. */
  readonly main: JwtIssuer
  /**
   * The gateway accepts only `ES256` from this issuer, although the issuer publishes more keys. Its keys and the keys
   * of `main` have the same `kid` values.
   */
  readonly other: JwtIssuer
  /** Issues tokens with the type `JWT`, as Keycloak does. */
  readonly plain: JwtIssuer
  /** The main issuer publishes these keys, but the gateway must not use them. */
  readonly unusable: Readonly<Record<'weak' | 'twice' | 'encryption' | 'leaked', TestKey>>
  /** Secret that the main issuer published by mistake. */
  readonly publishedSecret: string
  /** A key that belongs to no issuer. */
  readonly forger: TestKey
  /** A URL that the gateway must never contact. */
  readonly trap: string
  readonly trapped: () => number
  readonly now: number
}

/** Applies `change` to the claims of a valid token. `undefined` removes a claim. */
export function good(change: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return { aud: BASE_URL, scope: 'courses:read', ...change }
}

export async function startWorld(t: Test): Promise<World> {
  const main = await startJwtIssuer({ algorithms: [...new Set(['ES256', ...ALGORITHMS.keys()])] })
  const other = await startJwtIssuer({ algorithms: ['ES256', 'ES384', 'RS256', 'EdDSA'] })
  const plain = await startJwtIssuer({ path: '/realms/plain', metadata: 'openid' })
  const publishedSecret = 'a secret that was published by mistake'
  const weakKey = generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey
  const leaked = aKey('ES256', 'leaked')
  const unusable = {
    weak: { privateKey: weakKey, jwk: { ...publicJwk(weakKey), kid: 'weak', alg: 'RS256' } },
    twice: aKey('ES256', 'twice'),
    encryption: aKey('ES256', 'encryption', { use: 'enc' }),
    leaked: { ...leaked, jwk: { ...leaked.privateKey.export({ format: 'jwk' }), kid: 'leaked' } },
  }
  main.publish([
    ...main.keys.map(({ jwk }) => jwk),
    ...Object.values(unusable).map(({ jwk }) => jwk),
    aKey('ES256', 'twice').jwk,
    { kty: 'oct', kid: 'secret', k: Buffer.from(publishedSecret).toString('base64url') },
  ])
  let connections = 0
  const trap = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve))
  const trapAddress = trap.address()
  const trapPort = typeof trapAddress === 'object' ? trapAddress?.port : undefined
  const under = await startGatewayUnderTest(t, {
    change: (config) => ({
      ...config,
      issuers: [
        ...config.issuers,
        aJwtIssuerConfig(main.issuer, { algorithms: [...ALGORITHMS.keys()] }),
        aJwtIssuerConfig(other.issuer),
        aJwtIssuerConfig(plain.issuer, { type: 'JWT' }),
      ],
    }),
  })
  t.teardown(async () => {
    trap.close()
    await Promise.all([main.close(), other.close(), plain.close()])
  })
  return {
    under,
    main,
    other,
    plain,
    unusable,
    publishedSecret,
    forger: aKey('ES256', 'key-7'),
    trap: `http://127.0.0.1:${trapPort}`,
    trapped: () => connections,
    now: Math.floor(Date.now() / 1_000),
  }
}
