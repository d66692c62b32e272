import type { Cores } from '../choose-cores.ts'
import type { Subject } from '../subject.ts'
import { UPSTREAM_RESPONSE } from '../upstream/response.ts'
import { obtainToken } from './obtain-token.ts'
import { type ProductOptions, type StartedGateway, startProduct } from './start-product.ts'
import { verifyGateway } from './verify-gateway.ts'

const PATH = '/api/courses'
/** The scope that policies/courses.policy.yaml requires. */
export const SCOPE = 'courses:read'

/**
 * Starts the gateway as a subject, with an access token for one route. After each load, the subject checks that the
 * gateway did all its work.
 * @throws {BenchError} ERR_BENCH_START, ERR_BENCH_TOKEN.
 */
export async function startGatewaySubject(
  options: ProductOptions & { readonly name: string },
): Promise<Subject> {
  const product = await startProduct(options)
  return gatewaySubject(product, { ...options, token: await obtainToken(product, SCOPE) })
}

/** Returns a running gateway as a subject. */
export function gatewaySubject(
  gateway: StartedGateway,
  {
    name,
    cores,
    token,
  }: { readonly name: string; readonly cores: Cores | undefined; readonly token: string },
): Subject {
  return {
    name,
    process: gateway.gateway,
    core: cores?.server,
    target: {
      url: `${gateway.url}${PATH}`,
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
      expectedBody: UPSTREAM_RESPONSE,
    },
    verify: verifyGateway(gateway),
  }
}
