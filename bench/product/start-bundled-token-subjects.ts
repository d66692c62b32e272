import { join } from 'node:path'
import { ENDPOINTS } from '../../oauth/endpoints.ts'
import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { type Client, knownClient, registerClient } from '../../test/fixtures/register-client.ts'
import { BenchError } from '../bench-error.ts'
import type { Subject } from '../subject.ts'
import { NEW_TOKENS } from './start-jwt-subjects.ts'
import { type ProductOptions, startProduct } from './start-product.ts'
import { SCOPE, tokenSubjects } from './token-subjects.ts'

/** Subjects of one gateway. The bundled authorization server issues the tokens in the two formats. */
export type BundledTokenSubjects = {
  readonly cachedOpaque: Subject
  readonly cachedJwt: Subject
  /** The token cache contains no token of these requests. */
  readonly firstOpaque: Subject
  readonly firstJwt: Subject
}

/**
 * Maximum number of tokens in the token cache. All rounds of a subject send the same tokens, so the gateway must evict
 * these tokens between two rounds. The cache is small, because a round sends few new opaque tokens. The first use of an
 * opaque token is slow.
 */
export const CACHED_BUNDLED_TOKENS = 100

/**
 * Starts a gateway that accepts the two formats, and two authorization servers with the same data. One server issues
 * opaque tokens, and the other server issues JWTs. Each new token comes from a refresh.
 * @throws {BenchError} ERR_BENCH_START, ERR_BENCH_TOKEN.
 */
export async function startBundledTokenSubjects(options: ProductOptions): Promise<BundledTokenSubjects> {
  const issuerSettings = { SCOPEGATE_LIFETIMES__ACCESS_TOKEN: '1d' }
  const product = await startProduct({
    ...options,
    issuerSettings,
    settings: (issuer) => ({
      SCOPEGATE_ISSUERS__0__JWT__KEYS__URI: `${issuer}${ENDPOINTS.jwks}`,
      SCOPEGATE_TOKEN_CACHE__MAX_ENTRIES: String(CACHED_BUNDLED_TOKENS),
      SCOPEGATE_DATA_DIR: join(options.folder, 'gateway'),
    }),
  })
  const jwtIssuer = await product.startIssuer({ ...issuerSettings, SCOPEGATE_ACCESS_TOKENS__FORMAT: 'jwt' })
  const scopegate = (baseUrl: string) => ({ baseUrl, secret: () => undefined })
  const client = await registerClient(scopegate(product.baseUrl))
  const browser = openBrowser(product.baseUrl)
  const { refreshToken } = await client.obtainTokens({ browser, scope: SCOPE })
  const opaque = await obtainByRefresh(knownClient(scopegate(product.issuer), client), refreshToken)
  const jwts = await obtainByRefresh(knownClient(scopegate(jwtIssuer), client), opaque.refreshToken)
  const subjectOf = tokenSubjects(product, options)
  return {
    cachedOpaque: subjectOf('cached opaque token', opaque.accessTokens.slice(0, 1), 'known'),
    cachedJwt: subjectOf('cached JWT', jwts.accessTokens.slice(0, 1), 'known'),
    firstOpaque: subjectOf('first use, opaque token', opaque.accessTokens, 'new'),
    firstJwt: subjectOf('first use, JWT', jwts.accessTokens, 'new'),
  }
}

/**
 * Refreshes sequentially.
 * @returns the access tokens, and the last refresh token.
 */
async function obtainByRefresh(
  client: Client,
  first: string,
): Promise<{ readonly accessTokens: readonly string[]; readonly refreshToken: string }> {
  const accessTokens: string[] = []
  let refreshToken = first
  while (accessTokens.length < NEW_TOKENS) {
    const response = await client.refresh(refreshToken)
    if (response.status !== 200)
      throw new BenchError('ERR_BENCH_TOKEN', `a refresh got the status ${response.status}: ${response.text}`)
    const tokens = client.readTokens(response)
    accessTokens.push(tokens.accessToken)
    refreshToken = tokens.refreshToken
  }
  return { accessTokens, refreshToken }
}
