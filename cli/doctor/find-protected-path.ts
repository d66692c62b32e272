import type { Examination } from './examine.ts'

/**
 * A path without parameters whose GET asks for a token, as the gateway's own description says.
 * @returns undefined when there is none, or no description.
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
  for (const [path, item] of Object.entries(paths)) {
    const isInside = path === resourcePath || path.startsWith(`${resourcePath}/`)
    const security = (item as { get?: { security?: unknown } } | null)?.get?.security
    if (isInside && !path.includes('{') && Array.isArray(security) && security.length > 0) return path
  }
  return undefined
}
