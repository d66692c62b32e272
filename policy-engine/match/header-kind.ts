import { foldHeaderName } from './fold-header-name.ts'
import { MANAGED_HEADERS } from './managed-headers.ts'
import { OWN_PREFIXES } from './own-headers.ts'

/**
 * Handling of a request header by its name.
 * - `hop`: dropped, it belongs to one connection (RFC 9110 section 7.6.1)
 * - `managed`: dropped, only the gateway may send it to an upstream
 * - the others: read by the gateway
 */
export type HeaderKind =
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

/** Groups prefixes by first character, or by third character after `x-`, so that a lookup compares few prefixes. */
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
