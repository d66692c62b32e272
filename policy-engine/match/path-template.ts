/** Parsed path template, e.g. `/api/{family}/**`. */
export type PathTemplate = {
  readonly segments: readonly PathSegment[]
  /** Whether the template ends in `**`, which matches this path and all paths below it. */
  readonly below: boolean
}

export type PathSegment = { readonly literal: string } | { readonly parameter: string }

export type TemplateProblem = { readonly problem: string; readonly hint?: string | undefined }

// Matches RFC 3986 section 3.3 pchar without `*`, `{` and `}`, because these characters have a special meaning in
// templates.
const LITERAL = /^(?:[A-Za-z0-9\-._~!$&'()+,;=:@]|%[0-9A-F]{2})*$/
const PARAMETER = /^\{([A-Za-z_][A-Za-z0-9_]{0,63})\}$/

/**
 * Parses a path template: literal segments, `{parameter}` segments and at most one `**` at the end.
 * Literals must be in canonical form. A literal in another form would never match, because requests are canonicalized
 * first.
 */
export function parsePathTemplate(path: string): PathTemplate | TemplateProblem {
  if (!path.startsWith('/'))
    return { problem: 'a path must start with /', hint: `write "${withSlash(path)}"` }
  if (path.length > 2048) return { problem: 'a path must be at most 2048 characters' }
  const parts = path.slice(1).split('/')
  const below = parts.at(-1) === '**'
  if (below) parts.pop()
  const segments: PathSegment[] = []
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1 && !below
    const found = parseSegment(part, isLast)
    if ('problem' in found) return found
    if (
      'parameter' in found &&
      segments.some((one) => 'parameter' in one && one.parameter === found.parameter)
    ) {
      return { problem: `the parameter {${found.parameter}} occurs twice`, hint: 'rename one' }
    }
    segments.push(found)
  }
  return { segments, below }
}

/**
 * Parses the path template of a loaded route.
 * @throws {Error} on a malformed template. `loadPolicies()` reports the template earlier, with its location.
 */
export function readPathTemplate(path: string): PathTemplate {
  const template = parsePathTemplate(path)
  if ('problem' in template) throw new Error(`route path "${path}": ${template.problem}`)
  return template
}

/** Returns the path of a URL, or the text with a leading slash. */
function withSlash(path: string): string {
  return /^[a-z]+:\/\/[^/]*(\/.*)?$/i.exec(path)?.[1] ?? `/${path}`
}

function parseSegment(part: string, isLast: boolean): PathSegment | TemplateProblem {
  const parameter = PARAMETER.exec(part)?.[1]
  if (parameter !== undefined) return { parameter }
  // An empty last segment is a trailing slash, which is significant.
  if (part === '')
    return isLast
      ? { literal: '' }
      : { problem: 'the gateway rejects paths with empty segments', hint: 'write one slash' }
  if (part === '**') return { problem: '** is allowed only at the end of a path' }
  if (part.startsWith(':'))
    return { problem: `"${part}" would be literal text`, hint: `write {${part.slice(1)}}` }
  if (part.includes('*'))
    return {
      problem: `"${part}" is not a segment: the only wildcard is ** at the end`,
      hint:
        part !== '*'
          ? undefined
          : isLast
            ? 'write ** for all paths below, or {name} for one segment'
            : 'write {name}',
    }
  if (/[{}]/.test(part)) {
    const name = /^\{?([A-Za-z_][A-Za-z0-9_-]{0,63})\}?$/.exec(part)?.[1]
    return {
      problem: `"${part}" is not a segment: a {parameter} is a complete segment with a name of letters, digits and _`,
      hint: name === undefined ? undefined : `write {${name.replaceAll('-', '_')}}`,
    }
  }
  const angled = /^<([A-Za-z_][A-Za-z0-9_]{0,63})>$/.exec(part)?.[1]
  if (angled !== undefined) return { problem: `"${part}" is not a segment`, hint: `write {${angled}}` }
  // Servers that support path parameters read `..;x` as a dot segment.
  if (/^\.\.?(?:;|%3[Bb]|$)/.test(part)) return { problem: 'the gateway rejects paths with dot segments' }
  if (/[?#]/.test(part))
    return {
      problem: 'a path must not contain a query or a fragment',
      hint: `end the path before ${/[?#]/.exec(part)?.[0]}`,
    }
  const canonical = canonicalLiteral(part)
  if (canonical === undefined) return { problem: `"${part}" is not allowed in a path` }
  if (canonical !== part) return { problem: `"${part}" is not in canonical form`, hint: `write ${canonical}` }
  return { literal: part }
}

/**
 * Returns the canonical form of a literal: unreserved characters decoded, escapes in upper case.
 * Returns undefined for a literal that the gateway rejects in requests. Source: RFC 3986 section 6.2.2.
 */
function canonicalLiteral(part: string): string | undefined {
  if (!part.isWellFormed()) return undefined
  const encoded = part.replace(/[^\x21-\x7e]|["<>\\^`|]/gu, (character) => encodeURIComponent(character))
  if (/%(?![0-9A-Fa-f]{2})/.test(encoded)) return undefined
  const canonical = encoded.replace(/%[0-9A-Fa-f]{2}/g, (triplet) => {
    const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16))
    return /[A-Za-z0-9\-._~]/.test(character) ? character : triplet.toUpperCase()
  })
  // The gateway rejects encoded slashes, backslashes and control characters before it matches a request.
  if (/%(?:2F|5C|[01][0-9A-F]|7F)/.test(canonical) || !LITERAL.test(canonical)) return undefined
  return canonical === '.' || canonical === '..' ? undefined : canonical
}

/** Returns the template without the names of its parameters. Templates with the same shape match the same paths. */
export function shapeOf(template: PathTemplate): string {
  const segments = template.segments.map((one) => ('parameter' in one ? '/{}' : `/${one.literal}`))
  return `${segments.join('')}${template.below ? '/**' : ''}`
}

/**
 * Returns whether a canonical path matches a template, independent of other routes. Only for offline use, because the
 * server matches requests with the route table.
 */
export function matchesTemplate(path: string, template: string): boolean {
  const parsed = parsePathTemplate(template)
  if ('problem' in parsed || !path.startsWith('/')) return false
  const parts = path.slice(1).split('/')
  const { segments, below } = parsed
  const isLongEnough = below ? parts.length >= segments.length : parts.length === segments.length
  return (
    isLongEnough &&
    segments.every((segment, index) =>
      'parameter' in segment ? parts[index] !== '' : parts[index] === segment.literal,
    )
  )
}
