import { MANAGED_HEADERS } from '../policy-engine/match/managed-headers.ts'

/**
 * Names with the prefixes of `MANAGED_HEADERS`, because nginx cannot remove headers by prefix. Each product documents
 * its names.
 */
// biome-ignore format: a table
const COMMON_NAMES: readonly string[] = [
  'x-auth-', 'x-auth-request-user', 'x-auth-request-email', 'x-auth-request-groups', 'x-auth-request-preferred-username',
  'x-auth-request-access-token', 'x-scopegate-decision',
  'x-forwarded-access-token', 'x-forwarded-by', 'x-forwarded-client-cert', 'x-forwarded-email', 'x-forwarded-groups',
  'x-forwarded-method', 'x-forwarded-port', 'x-forwarded-preferred-username', 'x-forwarded-prefix',
  'x-forwarded-scheme', 'x-forwarded-server', 'x-forwarded-ssl', 'x-forwarded-tls-client-cert',
  'x-forwarded-tls-client-cert-info', 'x-forwarded-uri', 'x-forwarded-user',
  'x-original-forwarded-for', 'x-original-host', 'x-original-method', 'x-original-uri', 'x-original-url',
  'x-amzn-mtls-clientcert', 'x-amzn-mtls-clientcert-issuer', 'x-amzn-mtls-clientcert-leaf',
  'x-amzn-mtls-clientcert-serial-number', 'x-amzn-mtls-clientcert-subject', 'x-amzn-mtls-clientcert-validity',
  'x-amzn-oidc-accesstoken', 'x-amzn-oidc-data', 'x-amzn-oidc-identity',
  'x-appengine-user-email', 'x-appengine-user-id', 'x-appengine-user-is-admin', 'x-appengine-user-nickname',
  'x-authenticated-groups', 'x-authenticated-scope', 'x-authenticated-userid',
  'x-authentik-email', 'x-authentik-entitlements', 'x-authentik-groups', 'x-authentik-jwt', 'x-authentik-name',
  'x-authentik-uid', 'x-authentik-username',
  'x-client-cert', 'x-client-cert-chain', 'x-client-cert-chain-verified', 'x-client-cert-present',
  'x-consumer-custom-id', 'x-consumer-groups', 'x-consumer-id', 'x-consumer-username',
  'x-credential-identifier', 'x-credential-username',
  'x-endpoint-api-userinfo', 'x-envoy-external-address', 'x-envoy-original-path',
  'x-goog-authenticated-user-email', 'x-goog-authenticated-user-id', 'x-goog-iap-jwt-assertion',
  'x-ms-client-principal', 'x-ms-client-principal-id', 'x-ms-client-principal-idp', 'x-ms-client-principal-name',
  'x-ms-token-aad-access-token', 'x-ms-token-aad-id-token',
  'x-pomerium-claim-email', 'x-pomerium-claim-groups', 'x-pomerium-claim-sub', 'x-pomerium-jwt-assertion',
  'x-proxy-ext-name', 'x-remote-extra-scopes',
  'x-ssl-cert', 'x-ssl-client-cert', 'x-ssl-client-dn', 'x-ssl-client-i-dn', 'x-ssl-client-s-dn',
  'x-ssl-client-serial', 'x-ssl-client-verify', 'x-tls-client-cert',
  'x-token-user-email', 'x-token-user-name', 'x-token-user-roles', 'x-vouch-idp-accesstoken', 'x-vouch-user',
  'x-webauth-email', 'x-webauth-groups', 'x-webauth-name', 'x-webauth-role', 'x-webauth-user',
  'cf-access-authenticated-user-email', 'cf-access-jwt-assertion', 'cf-client-cert-der-base64',
  'iv-creds', 'iv-groups', 'iv-user', 'iv-user-l', 'oam-identity-domain', 'oam-remote-user',
  'oidc-access-token', 'oidc-claim-email', 'oidc-claim-sub', 'osso-user-dn',
  'shib-identity-provider', 'shib-session-id', 'sm-universalid', 'sm-user',
  'ssl-client-cert', 'ssl-client-i-dn', 'ssl-client-issuer-dn', 'ssl-client-s-dn', 'ssl-client-subject-dn',
  'ssl-client-verify', 'tailscale-user-login', 'tailscale-user-name', 'tls-client-cert',
  'wl-proxy-client-cert', 'wl-proxy-client-ip',
]
const PREFIXES = ['x-auth-', 'x-scopegate-', ...MANAGED_HEADERS.flatMap(({ prefixes = [] }) => prefixes)]
const NAMES = MANAGED_HEADERS.flatMap(({ names = [] }) => names)

/** Returns the directives that remove the headers from requests that nginx forwards. */
export function nginxHeaders(): string {
  const names = [...NAMES, ...COMMON_NAMES]
    .filter((name) => name !== 'x-request-id') // nginx.conf sets this header
    .toSorted()
  return `# Headers that only a gateway may set. nginx removes a header whose value is empty.
# nginx has no pattern for names: add each further header that the upstream trusts. Generated: npm run docs
${names.map((name) => `proxy_set_header ${name} "";`).join('\n')}
`
}

/** Returns the directives that remove the headers from requests that Caddy receives. */
export function caddyHeaders(): string {
  const patterns = [...NAMES, ...PREFIXES.map((prefix) => `${prefix}*`)].toSorted()
  return `# Headers that only a gateway may set. Generated: npm run docs
${patterns.map((pattern) => `request_header -${pattern}`).join('\n')}
`
}
