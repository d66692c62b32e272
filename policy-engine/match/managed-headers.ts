/**
 * Headers of one product or convention. Names are in lower case, with `-` in place of each character that servers
 * replace with `-`.
 */
type ManagedHeaders = {
  readonly usedBy: string
  readonly names?: readonly string[]
  /** Every name with one of these prefixes is included. */
  readonly prefixes?: readonly string[]
}

/**
 * Request headers in which proxies and gateways describe the sender, the origin or the target of a request.
 * The gateway drops these headers, because a client could forge them and an upstream may trust them.
 * Each name occurs once, and a prefix covers no other entry.
 */
export const MANAGED_HEADERS: readonly ManagedHeaders[] = [
  // Forwarding path and client address.
  { usedBy: 'RFC 7239', names: ['forwarded'] },
  { usedBy: 'RFC 9110 section 7.6.3', names: ['via'] },
  {
    usedBy: 'most proxies, also for people (oauth2-proxy) and certificates (Envoy, Traefik)',
    names: ['forwarded-for', 'x-forwarded', 'x-request-id', 'x-url-scheme', 'front-end-https'],
    prefixes: ['x-forwarded-'],
  },
  {
    usedBy: 'nginx, Apache and HAProxy configurations',
    names: [
      'x-real-ip',
      'x-client-ip',
      'client-ip',
      'remote-addr',
      'x-remote-addr',
      'x-remote-ip',
      'x-originating-ip',
    ],
  },
  { usedBy: 'Akamai', names: ['true-client-ip', 'x-true-client-ip'] },
  { usedBy: 'Alibaba Cloud CDN', names: ['ali-cdn-real-ip'] },
  { usedBy: 'Azure Front Door', names: ['x-azure-clientip', 'x-azure-socketip'] },
  { usedBy: 'Cloudflare', names: ['cf-connecting-ip', 'cf-connecting-ipv6', 'cf-pseudo-ipv4'] },
  { usedBy: 'CloudFront', names: ['cloudfront-viewer-address'] },
  { usedBy: 'DigitalOcean App Platform', names: ['do-connecting-ip'] },
  { usedBy: 'Envoy', prefixes: ['x-envoy-'] },
  { usedBy: 'Fastly', names: ['fastly-client-ip'] },
  { usedBy: 'Fly.io', names: ['fly-client-ip'] },
  { usedBy: 'Google web proxies', names: ['x-proxyuser-ip'] },
  { usedBy: 'Imperva', names: ['incap-client-ip'] },
  { usedBy: 'Netlify', names: ['x-nf-client-connection-ip'] },
  { usedBy: 'Rackspace and Riverbed load balancers', names: ['x-cluster-client-ip'] },
  { usedBy: 'Sucuri', names: ['x-sucuri-clientip'] },
  { usedBy: 'Vercel', names: ['x-vercel-forwarded-for'] },
  { usedBy: 'WebLogic, also for certificates', names: ['proxy-client-ip'], prefixes: ['wl-proxy-'] },
  { usedBy: 'WebSphere, as `$WS...`', prefixes: ['-ws'] },

  // Users and clients that another gateway authenticated.
  { usedBy: 'CGI, Apache, Authelia, Pangolin', names: ['remote-user', 'remote-groups', 'remote-role'] },
  { usedBy: 'Authelia', names: ['remote-name', 'remote-email'] },
  { usedBy: 'authentik', prefixes: ['x-authentik-'] },
  {
    usedBy: 'Apache APISIX and Kong with OpenID Connect',
    names: ['x-userinfo', 'x-access-token', 'x-id-token', 'x-refresh-token'],
  },
  { usedBy: 'Apache mod_auth_cas', names: ['cas-user'] },
  { usedBy: 'Apache mod_auth_openidc, as `OIDC_...`', prefixes: ['oidc-'] },
  { usedBy: 'AWS Application Load Balancer', prefixes: ['x-amzn-oidc-'] },
  { usedBy: 'Azure App Service', prefixes: ['x-ms-client-principal', 'x-ms-token-'] },
  {
    usedBy: 'Broadcom SiteMinder',
    names: ['smuser'],
    prefixes: ['sm-user', 'sm-universalid', 'sm-authtype'],
  },
  { usedBy: 'Caddy Security', names: ['x-token-subject'], prefixes: ['x-token-user-'] },
  { usedBy: 'Cloudflare Access', prefixes: ['cf-access-'] },
  {
    usedBy: 'Google App Engine',
    names: ['x-appengine-inbound-appid', 'x-appengine-cron', 'x-appengine-queuename'],
    prefixes: ['x-appengine-user-'],
  },
  {
    usedBy: 'Google API Gateway and Cloud Endpoints',
    names: ['x-apigateway-api-userinfo'],
    prefixes: ['x-endpoint-api-'],
  },
  { usedBy: 'Google Identity-Aware Proxy', prefixes: ['x-goog-authenticated-user-', 'x-goog-iap-'] },
  { usedBy: 'Grafana', prefixes: ['x-webauth-'] },
  {
    usedBy: 'IBM Verify Identity Access (WebSEAL)',
    prefixes: ['iv-user', 'iv-groups', 'iv-creds', 'iv-remote-address'],
  },
  {
    usedBy: 'Kong, also Apache APISIX',
    names: ['x-anonymous-consumer'],
    prefixes: ['x-consumer-', 'x-credential-', 'x-authenticated-'],
  },
  {
    usedBy: 'Kubernetes',
    names: ['x-remote-user', 'x-remote-group', 'x-remote-uid'],
    prefixes: ['x-remote-extra-'],
  },
  { usedBy: 'OpenSearch', names: ['x-proxy-user', 'x-proxy-roles'], prefixes: ['x-proxy-ext-'] },
  { usedBy: 'Oracle Access Manager', prefixes: ['oam-remote-user', 'oam-identity-', 'osso-'] },
  { usedBy: 'Pomerium', prefixes: ['x-pomerium-'] },
  { usedBy: 'Shibboleth', prefixes: ['shib-'] },
  { usedBy: 'Tailscale', names: ['tailscale-app-capabilities'], prefixes: ['tailscale-user-'] },
  { usedBy: 'Teleport', names: ['teleport-jwt-assertion'] },
  { usedBy: 'Vouch Proxy', prefixes: ['x-vouch-'] },
  { usedBy: 'WSO2 API Manager', names: ['x-jwt-assertion', 'x-wso2-client-certificate'] },

  // Client certificates.
  { usedBy: 'RFC 9440', names: ['client-cert', 'client-cert-chain'] },
  {
    usedBy: 'nginx, Apache and HAProxy configurations',
    names: [
      'proxy-client-cert',
      'ssl-cert',
      'client-dn',
      'client-pem',
      'x-client-verify',
      'x-client-dn',
      'x-client-s-dn',
      'x-client-i-dn',
      'x-client-subject-dn',
      'x-client-issuer-dn',
      'x-client-serial',
      'x-client-fingerprint',
    ],
    prefixes: [
      'ssl-client-',
      'tls-client-',
      'x-ssl-client',
      'x-ssl-cert',
      'x-tls-client-',
      'x-tls-cert',
      'x-peer-cert',
      'x-mtls-',
    ],
  },
  { usedBy: 'AWS Application Load Balancer', prefixes: ['x-amzn-mtls-'] },
  { usedBy: 'Azure App Service', names: ['x-arr-clientcert', 'x-arr-ssl'] },
  { usedBy: 'Cloudflare', prefixes: ['cf-client-cert-'] },
  { usedBy: 'CloudFront', prefixes: ['cloudfront-viewer-cert-'] },
  { usedBy: 'Google Cloud Load Balancing', prefixes: ['x-client-cert'] },

  // Headers that override the target or the method to which the policy was applied.
  { usedBy: 'nginx configurations, Spring, Symfony', names: ['x-host'], prefixes: ['x-original-'] },
  { usedBy: 'Microsoft IIS, Symfony', names: ['x-rewrite-url', 'x-http-host-override'] },
  {
    usedBy: 'Rails, Express and other frameworks',
    names: ['x-http-method', 'x-http-method-override', 'x-method-override'],
  },
]
