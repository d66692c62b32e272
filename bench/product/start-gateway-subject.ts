import type { Subject } from '../subject.ts'
import { UPSTREAM_ANSWER } from '../upstream/answer.ts'
import { obtainToken } from './obtain-token.ts'
import { type ProductOptions, startProduct } from './start-product.ts'
import { verifyGateway } from './verify-gateway.ts'

const PATH = '/api/courses'
const SCOPE = 'courses:read' // what policies/courses.policy.yaml asks for

/**
 * Starts the gateway as a subject: with an access token for one of its routes, and a check that it did all of its work.
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
      expectedBody: UPSTREAM_ANSWER,
    },
    verify: verifyGateway(product),
  }
}
