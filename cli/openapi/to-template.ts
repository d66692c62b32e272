/** A contract path as a policy path. `renamed` lists the parameters whose names are invalid in a policy. */
export type ContractPath =
  | { readonly path: string; readonly renamed: readonly (readonly [from: string, to: string])[] }
  | { readonly problem: string; readonly hint: string }

const OVERRIDE_HINT = 'set a wider path: x-scopegate: { match: { path: … } }'
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

/**
 * Converts an OpenAPI path template to a policy path. Every `{parameter}` must be a whole segment. In names, characters
 * other than letters, digits and `_` become `_`, because names do not affect matching.
 */
export function toTemplate(path: string): ContractPath {
  if (!path.startsWith('/')) return { problem: 'a path must start with /', hint: `write "/${path}"` }
  if (/[?#]/.test(path.replace(/\{[^{}]*\}/g, '')))
    return {
      problem: 'a path must not contain a query or a fragment',
      hint: 'describe the query with parameters',
    }
  const renamed: (readonly [string, string])[] = []
  const taken = new Set<string>()
  const segments: string[] = []
  for (const segment of path.slice(1).split('/')) {
    if (!/[{}]/.test(segment)) {
      segments.push(segment)
      continue
    }
    const name = /^\{([^{}]*)\}$/.exec(segment)?.[1]
    if (name === undefined)
      return {
        problem: `"${segment}" mixes text and a parameter, which a policy cannot express`,
        hint: OVERRIDE_HINT,
      }
    if (/[*+?]/.test(name))
      return {
        problem: `"${segment}" matches several segments or none, which a policy cannot express here`,
        hint: OVERRIDE_HINT,
      }
    const plain = toName(name)
    if (taken.has(plain))
      return {
        problem: `"${segment}" is a duplicate, or another parameter gets the same name`,
        hint: 'rename one',
      }
    taken.add(plain)
    if (plain !== name) renamed.push([name, plain])
    segments.push(`{${plain}}`)
  }
  return { path: `/${segments.join('/')}`, renamed }
}

function toName(name: string): string {
  if (NAME.test(name)) return name
  const plain = name.replace(/[^A-Za-z0-9_]/g, '_').slice(0, 60)
  return /^[A-Za-z_]/.test(plain) ? plain : `p_${plain}`
}
