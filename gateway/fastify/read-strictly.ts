import { isDeepStrictEqual } from 'node:util'
import findMyWay from 'find-my-way'

/** A route of Fastify, and the parameters that Fastify read from the path. */
export type RouterReading = { readonly pattern: string; readonly params: unknown }

/**
 * Creates a function that compares the reading of Fastify's router with a strict reading of the canonical path. Options
 * of Fastify can make its router ignore case, repeated slashes, a slash at the end or path parameters. A path would
 * then reach another route than the route that the policy describes.
 */
export function createStrictReader(): (reading: RouterReading, canonicalPath: string) => boolean {
  const readers = new Map<string, ReturnType<typeof createReader>>()
  return ({ pattern, params }, canonicalPath) => {
    let reader = readers.get(pattern)
    if (reader === undefined) {
      reader = createReader(pattern)
      readers.set(pattern, reader)
    }
    const found = reader.find('GET', canonicalPath)
    return found !== null && isDeepStrictEqual({ ...found.params }, { ...(params as object) })
  }
}

/** Creates a router of the library that Fastify uses, with its strict defaults and one route. */
function createReader(pattern: string) {
  const router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER, allowUnsafeRegex: true })
  router.on('GET', pattern, () => undefined)
  return router
}
