import type { Subject } from '../subject.ts'
import { UPSTREAM_RESPONSE } from '../upstream/response.ts'
import { obtainToken } from './obtain-token.ts'
import { type ProductOptions, startProduct } from './start-product.ts'
import { verifyGateway } from './verify-gateway.ts'

const PATH = '/api/courses'
const SCOPE = 'courses:read' // the scope that policies/courses.policy.yaml requires

/**
 * Starts the gateway as a subject, with an access token for one route. After each load, the subject checks that the
 * gateway did all its work.
 * @throws {BenchError} ERR_BENCH_START, ERR_BENCH_TOKEN.
 */
export async function startGatewaySubject(
  options: ProductOptions & { readonly name: string },
): Promise<Subject> {
  const product = await startProduct(options)
  const token = await obtainToken(product, SCOPE)
  return {
    name: options.name,
    process: product.gateway,
    core: options.cores?.server,
    target: {
      url: `${product.baseUrl}${PATH}`,
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
      expectedBody: UPSTREAM_RESPONSE,
    },
    verify: verifyGateway(product),
  }
}
