import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aKey, type TestKey } from '../../test/fixtures/jwk.ts'
import { signJws } from '../../test/fixtures/jws.ts'
import type { Subject } from '../subject.ts'
import { type ProductOptions, startProduct } from './start-product.ts'
import { SCOPE, tokenSubjects } from './token-subjects.ts'

/** Subjects of one gateway, with three kinds of load. Their names begin with `prefix`. */
export type JwtSubjects = {
  /** Every request has the same JWT, signed with ES256. */
  readonly cached: Subject
  /** The token cache contains no JWT of these requests. */
  readonly firstEs256: Subject
  readonly firstRs256: Subject
}

/**
 * The load sends this number of JWTs cyclically. The cache contains at most CACHED_TOKENS JWTs. The cache evicts a JWT
 * before the load sends the JWT again.
 */
export const NEW_TOKENS = 2_000
export const CACHED_TOKENS = 500

const LIFETIME_SECONDS = 86_400

/**
 * Starts a gateway that verifies JWTs of its issuer with keys from a file. CACHED_TOKENS limits the token cache.
 * @throws {BenchError} ERR_BENCH_START.
 */
export async function startJwtSubjects({
  prefix = '',
  ...options
}: ProductOptions & { readonly prefix?: string }): Promise<JwtSubjects> {
  const es256 = aKey('ES256', 'bench-es256')
  const rs256 = aKey('RS256', 'bench-rs256')
  const keysFile = join(options.folder, 'keys.json')
  writeFileSync(keysFile, JSON.stringify({ keys: [es256.jwk, rs256.jwk] }), { mode: 0o600 })
  const product = await startProduct({
    ...options,
    settings: {
      SCOPEGATE_ISSUERS__0__JWT__KEYS__FILE: keysFile,
      SCOPEGATE_TOKEN_CACHE__MAX_ENTRIES: String(CACHED_TOKENS),
    },
  })
  const subject = tokenSubjects(product, options)
  const subjectOf = (name: string, key: TestKey, kind: 'known' | 'new'): Subject =>
    subject(`${prefix}${name}`, signTokens(key, product.baseUrl, kind === 'known' ? 1 : NEW_TOKENS), kind)
  return {
    cached: subjectOf('cached ES256 JWT', es256, 'known'),
    firstEs256: subjectOf('first use, ES256', es256, 'new'),
    firstRs256: subjectOf('first use, RS256', rs256, 'new'),
  }
}

/** Signs access tokens (RFC 9068). The issuer and the resource have the same URL. */
function signTokens({ privateKey, jwk }: TestKey, issuer: string, count: number): readonly string[] {
  const nowSeconds = Math.floor(Date.now() / 1_000)
  return Array.from({ length: count }, (_, index) =>
    signJws(
      { alg: jwk['alg'], typ: 'at+jwt', kid: jwk['kid'] },
      {
        iss: issuer,
        sub: `user-${index}`,
        aud: issuer,
        client_id: 'bench',
        scope: SCOPE,
        iat: nowSeconds,
        exp: nowSeconds + LIFETIME_SECONDS,
        jti: `token-${index}`,
      },
      privateKey,
    ),
  )
}
