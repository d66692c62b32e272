import { foldHeaderName } from './fold-header-name.ts'
import { OWN_PREFIXES } from './own-headers.ts'

/**
 * What the gateway does with a header of a given name.
 * - `hop`: belongs to one connection (RFC 9110 section 7.6.1) or is framing, which each side writes itself
 * - `managed`: says who calls or how the request came; only the gateway may say that
 * - the rest name themselves: they are read, and kept aside
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
  'expect', // answered here: RFC 9110 section 10.1.1
]

const MANAGED = [
  'forwarded',
  'forwarded-for',
  'via',
  'x-forwarded',
  'x-request-id',
  'x-url-scheme',
  'front-end-https',
  // Where a request comes from, in the words of other proxies.
  'x-real-ip',
  'x-client-ip',
  'client-ip',
  'true-client-ip',
  'x-true-client-ip',
  'x-cluster-client-ip',
  'x-proxyuser-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'remote-addr',
  'x-remote-addr',
  'x-remote-ip',
  // Who sends it, in the words of other gateways. RFC 9440 section 4 for certificates.
  'remote-user',
  'remote-groups',
  'remote-name',
  'remote-email',
  'x-remote-user',
  'x-remote-group',
  'x-webauth-user',
  'client-cert',
  'client-cert-chain',
  'proxy-client-cert',
  'proxy-client-ip',
  'x-arr-clientcert',
  'x-arr-ssl',
  'x-client-verify',
  'x-client-dn',
  'x-client-s-dn',
  'x-client-i-dn',
  'x-client-subject-dn',
  'x-client-issuer-dn',
  'x-client-serial',
  'x-client-fingerprint',
  // An upstream that honours these would serve another target or method than the one that was decided on.
  'x-host',
  'x-http-host-override',
  'x-rewrite-url',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
]

const READ = [
  'connection',
  'host',
  'authorization',
  'dpop', // a proof is for this server alone: RFC 9449 section 4.1
  'cookie',
  'content-length',
  'transfer-encoding',
  'user-agent',
] as const

const KINDS: ReadonlyMap<string, HeaderKind> = new Map<string, HeaderKind>([
  ...HOP_BY_HOP.map((name) => [name, 'hop'] as const),
  ...MANAGED.map((name) => [name, 'managed'] as const),
  ...READ.map((name) => [name, name] as const),
])

/** What proxies say about who sent a request, from where, and where it was meant to go. */
const PROXY_PREFIXES = [
  'x-forwarded-',
  'x-original-',
  'x-envoy-',
  // Certificates: nginx, Apache, HAProxy, Google, AWS, Cloudflare, WebLogic and, with a `$`, WebSphere.
  'ssl-client-',
  'tls-client-',
  'x-ssl-client',
  'x-ssl-cert',
  'x-tls-client-',
  'x-mtls-',
  'x-client-cert',
  'x-amzn-mtls-',
  'cf-client-cert-',
  'wl-proxy-',
  '-ws',
  // People whom they have signed in themselves.
  'x-amzn-oidc-',
  'x-goog-authenticated-user-',
  'x-goog-iap-',
  'x-ms-client-principal',
  'x-ms-token-',
  'cf-access-',
  'tailscale-user-',
]
/** By the code of their first character: few names of a request begin like one of them. */
const MANAGED_PREFIXES: ReadonlyMap<number, readonly string[]> = Map.groupBy(
  [...OWN_PREFIXES, ...PROXY_PREFIXES],
  (prefix) => prefix.charCodeAt(0),
)
/**
 * Classifies a header by its name in lower case; undefined means that it goes through as it came.
 * Servers that fold names (CGI, WSGI) read `x_auth_subject` as `X-Auth-Subject`, some of them `x!auth!subject` too: every
 * spelling that folds to a managed or framing name is `managed`, so it is dropped.
 */
export function headerKind(lowerName: string): HeaderKind | undefined {
  const kind = KINDS.get(lowerName)
  if (kind !== undefined) return kind
  const folded = foldHeaderName(lowerName)
  if (folded !== lowerName && KINDS.has(folded)) return 'managed'
  const prefixes = MANAGED_PREFIXES.get(folded.charCodeAt(0))
  return prefixes?.some((prefix) => folded.startsWith(prefix)) ? 'managed' : undefined
}
