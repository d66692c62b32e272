import type { Subject } from '../subject.ts'
import { UPSTREAM_RESPONSE } from '../upstream/response.ts'
import type { Product, ProductOptions } from './start-product.ts'
import { verifyGateway } from './verify-gateway.ts'

const PATH = '/api/courses'
/** policies/courses.policy.yaml requires this scope for the path of the subjects. */
export const SCOPE = 'courses:read'

/**
 * Returns a function that creates subjects of one gateway. The load sends `tokens` cyclically. All subjects share the
 * check that the gateway did all its work.
 */
export function tokenSubjects(
  product: Product,
  { cores }: Pick<ProductOptions, 'cores'>,
): (name: string, tokens: readonly string[], kind: 'known' | 'new') => Subject {
  const verify = verifyGateway(product)
  return (name, tokens, kind) => ({
    name,
    process: product.gateway,
    core: cores?.server,
    target: {
      url: `${product.baseUrl}${PATH}`,
      headers: { accept: 'application/json' },
      expectedBody: UPSTREAM_RESPONSE,
      tokens,
    },
    verify: (answered) => verify(answered, kind),
  })
}
