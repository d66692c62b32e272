import type { Examination } from './checks.ts'

/** The gateway rejects a bad token before it forwards a request, so any value works. */
const PARAMETER_VALUE = 'scopegate-doctor'

/**
 * Returns a path whose GET requires a token according to the gateway's own API description. Prefers a path without
 * parameters, else fills in each parameter. `**` at the end of a route is a parameter there.
 * @returns undefined without such a path, or without a description.
 */
export async function findProtectedPath({
  baseUrl,
  resourcePath,
  protectedPath,
  visitor,
}: Examination): Promise<string | undefined> {
  if (protectedPath !== undefined) return protectedPath
  const answer = await visitor.visit(`${baseUrl}/openapi.json`)
  if ('failed' in answer || answer.json === undefined) return undefined
  const { paths } = answer.json
  if (typeof paths !== 'object' || paths === null) return undefined
  const secured = Object.entries(paths).flatMap(([path, item]) => {
    const isInside = path === resourcePath || path.startsWith(`${resourcePath}/`)
    const security = (item as { get?: { security?: unknown } } | null)?.get?.security
    return isInside && Array.isArray(security) && security.length > 0 ? [path] : []
  })
  const path = secured.find((one) => !one.includes('{')) ?? secured[0]
  return path?.replace(/\{[^{}]*\}/g, PARAMETER_VALUE)
}
