import { createHash } from 'node:crypto'

export type UnnamedOperation = {
  readonly operationId: string | undefined
  readonly method: string
  readonly path: string
}

const MAX_LENGTH = 63
const VALID = /^[a-z][a-z0-9-]*$/

/**
 * Creates route names from the operationId, or from method and path. The same operations always get the same names.
 * Routes with the same name get their method as a suffix, and then a number if necessary.
 */
export function nameRoutes(operations: readonly UnnamedOperation[], policy: string): readonly string[] {
  const plain = operations.map((one) => nameOf(one, policy))
  const counts = countEach(plain)
  // Unique names stay unchanged.
  const taken = new Set(plain.filter((name) => counts.get(name) === 1))
  return plain.map((name, index) => {
    if (counts.get(name) === 1) return name
    const withMethod = `${name}-${operations[index]?.method.toLowerCase()}`
    let free = fit(withMethod)
    for (let number = 2; taken.has(free); number++) free = fit(withMethod, `-${number}`)
    taken.add(free)
    return free
  })
}

function nameOf({ operationId, method, path }: UnnamedOperation, policy: string): string {
  // `export openapi` writes `<policy>.<route>` as the operationId, e.g. `courses.list-courses`. The import removes the
  // policy name.
  const own =
    operationId?.startsWith(`${policy}.`) === true ? operationId.slice(policy.length + 1) : operationId
  const fromId = own === undefined ? '' : kebab(own)
  return fit(VALID.test(fromId) ? fromId : kebab(`${method} ${path}`))
}

function kebab(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
}

/** Shortens long names with a hash, so that different names stay different. */
function fit(name: string, suffix = ''): string {
  if (name.length + suffix.length <= MAX_LENGTH) return `${name}${suffix}`
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 6)
  return `${name.slice(0, MAX_LENGTH - suffix.length - 7)}-${digest}${suffix}`
}

function countEach(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
