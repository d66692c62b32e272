import { openBrowser } from '../../test/fixtures/open-browser.ts'
import { registerClient } from '../../test/fixtures/register-client.ts'
import { BenchError } from '../bench-error.ts'
import type { Product } from './start-product.ts'

/**
 * Registers a client, signs in as alice on the pages, consents, and exchanges the code.
 * @throws {BenchError} ERR_BENCH_TOKEN if a step fails.
 */
export async function obtainToken(product: Product, scope: string): Promise<string> {
  const { baseUrl } = product
  try {
    const client = await registerClient({ baseUrl, secret: () => undefined })
    const tokens = await client.obtainTokens({ browser: openBrowser(baseUrl), scope })
    return tokens.accessToken
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BenchError('ERR_BENCH_TOKEN', `no access token for the benchmark: ${reason}`, { cause })
  }
}
