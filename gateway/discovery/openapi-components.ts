import { isDeepStrictEqual } from 'node:util'
import { toRecord } from '../../platform/diagnostics/record.ts'

/** A JSON object whose values are not validated. */
export type JsonObject = { readonly [key: string]: unknown }

/** Sections of `components` that only the gateway writes. An upstream must not define authentication. */
const OWN_SECTIONS = ['securitySchemes']
const REFERENCE = /^#\/components\/([^/]+)\/([^/]+)(.*)$/s

/**
 * Merges the components of one upstream's document into the components of the other upstreams. A component gets the
 * name of the upstream as a prefix in two cases: the gateway uses the name of the component, or another component with
 * this name has another content.
 * @returns the document with its references rewritten.
 */
export function mergeComponents(
  document: JsonObject,
  into: Map<string, Map<string, unknown>>,
  upstream: string,
): JsonObject {
  const sections = Object.entries(toRecord(document['components'])).filter(
    ([section]) => !OWN_SECTIONS.includes(section),
  )
  const renamed = new Map<string, string>()
  for (const [section, components] of sections) {
    for (const [name, component] of Object.entries(toRecord(components))) {
      const taken = into.get(section)?.get(name)
      if (isReserved(section, name) || (taken !== undefined && !isDeepStrictEqual(taken, component)))
        renamed.set(`${section}/${name}`, `${upstream.replaceAll('/', '.')}.${name}`)
    }
  }
  const adopted = toRecord(rewriteReferences(document, renamed))
  for (const [section, components] of Object.entries(toRecord(adopted['components']))) {
    if (OWN_SECTIONS.includes(section)) continue
    const target = into.get(section) ?? new Map<string, unknown>()
    for (const [name, component] of Object.entries(toRecord(components)))
      target.set(renamed.get(`${section}/${name}`) ?? name, component)
    into.set(section, target)
  }
  return adopted
}

const RESERVED: Readonly<Record<string, readonly string[]>> = {
  schemas: ['GatewayError'],
  headers: ['WWW-Authenticate', 'Retry-After', 'RateLimit', 'RateLimit-Policy'],
  responses: ['Unauthorized', 'TooManyRequests'],
}

function isReserved(section: string, name: string): boolean {
  return Object.hasOwn(RESERVED, section) && RESERVED[section]?.includes(name) === true
}

function rewriteReferences(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (renamed.size === 0) return value
  if (Array.isArray(value)) return value.map((one) => rewriteReferences(one, renamed))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? rewriteReference(inner, renamed)
        : rewriteReferences(inner, renamed),
    ]),
  )
}

function rewriteReference(reference: string, renamed: ReadonlyMap<string, string>): string {
  const [, section, name, rest] = REFERENCE.exec(reference) ?? []
  const to = section === undefined ? undefined : renamed.get(`${section}/${name}`)
  return to === undefined ? reference : `#/components/${section}/${to}${rest}`
}
