import { MANAGED_HEADERS } from './managed-headers.ts'

/** Prefixes of headers that only the gateway may send, to upstreams and to clients. */
const OWN_PREFIXES = ['x-auth-', 'x-scopegate-'] as const
const REQUEST_ID = 'x-request-id'

/**
 * Handling of a request header by its name.
 * - `hop`: dropped, because the header belongs to one connection (RFC 9110 section 7.6.1)
 * - `managed`: dropped, because only the gateway may send the header to an upstream
 * - all other kinds: the gateway reads the header
 */
type HeaderKind =
  | 'hop'
  | 'managed'
  | 'connection'
  | 'host'
  | 'authorization'
  | 'dpop'
  | 'cookie'
  | 'content-length'
  | 'transfer-encoding'
  | 'user-agent'

const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'expect', // handled by the gateway: RFC 9110 section 10.1.1
]

const READ = [
  'connection',
  'host',
  'authorization',
  'dpop', // a proof is valid for one server only: RFC 9449 section 4.1
  'cookie',
  'content-length',
  'transfer-encoding',
  'user-agent',
] as const

const KINDS: ReadonlyMap<string, HeaderKind> = new Map<string, HeaderKind>([
  ...HOP_BY_HOP.map((name) => [name, 'hop'] as const),
  ...MANAGED_HEADERS.flatMap(({ names = [] }) => names.map((name) => [name, 'managed'] as const)),
  ...READ.map((name) => [name, name] as const),
])

const LETTER_X = 120
const MANAGED_PREFIXES: ReadonlyMap<number, readonly string[]> = Map.groupBy(
  [...OWN_PREFIXES, ...MANAGED_HEADERS.flatMap(({ prefixes = [] }) => prefixes)],
  prefixGroup,
)

/**
 * Groups prefixes by their first character. Prefixes with `x-` are grouped by the third character, so that a lookup
 * compares few prefixes.
 */
function prefixGroup(name: string): number {
  const first = name.charCodeAt(0)
  return first === LETTER_X ? 256 + name.charCodeAt(2) : first
}

/**
 * Classifies a header by its name in lower case. undefined: the gateway forwards the header unchanged.
 * Servers that fold names (CGI, WSGI) read `x_auth_subject` as `X-Auth-Subject`, and some also fold `x!auth!subject`.
 * Therefore every spelling that folds to a managed or framing name is `managed`, and the gateway drops it.
 */
export function headerKind(lowerName: string): HeaderKind | undefined {
  const kind = KINDS.get(lowerName)
  if (kind !== undefined) return kind
  const folded = foldHeaderName(lowerName)
  if (folded !== lowerName && KINDS.has(folded)) return 'managed'
  const prefixes = MANAGED_PREFIXES.get(prefixGroup(folded))
  return prefixes?.some((prefix) => folded.startsWith(prefix)) ? 'managed' : undefined
}

/**
 * Returns whether only the gateway may send a response header with this name, in any spelling.
 * @param lowerName in lower case.
 */
export function isOwnHeader(lowerName: string): boolean {
  if (lowerName.charCodeAt(0) !== LETTER_X) return false
  const folded = foldHeaderName(lowerName)
  return folded === REQUEST_ID || OWN_PREFIXES.some((prefix) => folded.startsWith(prefix))
}

const SEPARATOR = /[^a-z0-9-]/
const SEPARATORS = /[^a-z0-9-]/g

/**
 * Replaces every character other than a letter, a digit or `-` with `-`, as CGI and WSGI servers do.
 * CGI and WSGI servers read `x_auth_subject` as `X-Auth-Subject`. Some servers also fold `x!auth!subject`.
 * @param lowerName in lower case.
 */
export function foldHeaderName(lowerName: string): string {
  return SEPARATOR.test(lowerName) ? lowerName.replace(SEPARATORS, '-') : lowerName
}
