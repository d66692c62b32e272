import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { CHART } from './render-chart.ts'

const NO_POLICIES = `There are no policies yet, so the gateway serves only its own paths. Set upstreams, and policies.inline, policies.configMaps or
policies.existingClaim.`
const HOT_RELOAD = `The gateway reloads changed policies without a restart, at most one minute after their ConfigMap. If a policy is invalid, the gateway keeps
the active policies and logs the errors. The metric scopegate_policy_info{hash} shows the active policies of each pod.`
const EPHEMERAL_STORE = `WARNING: EPHEMERAL STORE. Accounts, clients, grants and tokens are in the authorization server's pod and are DELETED WITH IT.
  For a persistent store, set postgres.url, redis.url (or redis.existingSecret), or authorizationServer.database.existingClaim.`
const EPHEMERAL_SIGNING_KEYS = `WARNING: EPHEMERAL SIGNING KEYS. They are generated in the authorization server's pod and are DELETED WITH IT. Clients can then
  not verify older ID tokens. For persistent keys, set authorizationServer.signingKeys.existingSecret to a Secret with a JWK
  Set of private keys, or authorizationServer.database.existingClaim.`
const JWT_ACCESS_TOKENS = `RECOMMENDATION: JWT ACCESS TOKENS. Gateways introspect opaque tokens, so an outage of Redis or of all authorization servers rejects
  them. With authorizationServer.accessTokenFormat: jwt, gateways verify tokens locally, and tokens stay valid during the outage.`
const DEVELOPMENT_SIGN_IN =
  'WARNING: DEVELOPMENT SIGN-IN. authorizationServer.config.development is true: anyone can sign in as alice/alice or bob/bob.'
const TRUSTED_PROXIES = `RECOMMENDATION: TRUSTED PROXIES. The gateway sees the address of the proxy as the address of every client. Set gateway.trustedProxies
  to the addresses of the proxy.`
const NETWORK_POLICY = `RECOMMENDATION: NETWORK POLICY. Every pod of the cluster can connect to both services. To limit connections, set
  networkPolicy.enabled.`

const { version: VERSION }: { readonly version: string } = parse(
  readFileSync(join(CHART, 'Chart.yaml'), 'utf8'),
)
const installedIn = (namespace: string) => `scopegate ${VERSION} is installed as gw in ${namespace}.`
const tryIt = (namespace: string, port: number, command: string) => `Try it:

  kubectl --namespace ${namespace} rollout status deployment/gw-scopegate
  kubectl --namespace ${namespace} port-forward service/gw-scopegate 8080:${port}
  curl ${command}`
const HTTP_COMMAND = 'http://127.0.0.1:8080/.well-known/oauth-protected-resource'
const signInTo = (
  namespace: string,
) => `Sign-in needs an account. This command adds one, with the password from your environment:

  printf %s "$PASSWORD" | kubectl --namespace ${namespace} exec --stdin deployment/gw-scopegate-authorization-server -- node bin/scopegate.js account add NAME`
const restartIn = (
  namespace: string,
) => `The gateway reads policies at start. A change of inline policies replaces its pods automatically. After a change in another ConfigMap
or in a volume:

  kubectl --namespace ${namespace} rollout restart deployment/gw-scopegate`
const httpIssuer = (
  url: string,
) => `WARNING: HTTP ISSUER. ${url} is not encrypted: tokens and passwords cross the network in plain text, and clients
  reject it unless it runs on their own machine. Use an https URL. For the bundled authorization server, terminate TLS in front of the
  gateway or set gateway.tls.existingSecret, and set gateway.baseUrl to the https URL.`

/** The complete text of NOTES.txt for some values. A blank line separates two paragraphs. */
export const NOTES_CASES: readonly {
  readonly name: string
  readonly set: readonly string[]
  readonly paragraphs: readonly string[]
}[] = [
  {
    name: 'the default values',
    set: [],
    paragraphs: [
      ...[installedIn('shop'), tryIt('shop', 8080, HTTP_COMMAND), signInTo('shop'), NO_POLICIES, HOT_RELOAD],
      ...[EPHEMERAL_STORE, EPHEMERAL_SIGNING_KEYS, httpIssuer('http://127.0.0.1:8080'), NETWORK_POLICY],
    ],
  },
  {
    name: 'TLS, a persistent volume, and policies that a restart reloads',
    set: [
      'namespaceOverride=edge',
      'gateway.tls.existingSecret=tls',
      'gateway.baseUrl=https://api.example.org',
      'service.ports.http=443',
      'policies.configMaps={books}',
      'policies.reload=restart',
      'upstreams.books.url=http://books',
      'authorizationServer.database.existingClaim=data',
      'networkPolicy.enabled=true',
    ],
    paragraphs: [
      installedIn('edge'),
      tryIt(
        'edge',
        443,
        '--connect-to ::127.0.0.1:8080 https://api.example.org/.well-known/oauth-protected-resource',
      ),
      ...[signInTo('edge'), restartIn('edge')],
    ],
  },
  {
    name: 'an Ingress and several authorization servers with opaque tokens',
    set: [
      'gateway.baseUrl=https://api.example.org',
      'redis.url=redis://redis',
      'authorizationServer.replicaCount=2',
      'authorizationServer.signingKeys.existingSecret=keys',
      'ingress.enabled=true',
      'networkPolicy.enabled=true',
    ],
    paragraphs: [
      ...[installedIn('shop'), tryIt('shop', 8080, HTTP_COMMAND), signInTo('shop'), NO_POLICIES, HOT_RELOAD],
      ...[JWT_ACCESS_TOKENS, TRUSTED_PROXIES],
    ],
  },
  {
    name: 'an HTTPRoute with trusted proxies and several authorization servers with JWTs',
    set: [
      'gateway.baseUrl=https://api.example.org',
      'gateway.trustedProxies={10.0.0.0/8}',
      'redis.url=redis://redis',
      'authorizationServer.accessTokenFormat=jwt',
      'authorizationServer.replicaCount=2',
      'authorizationServer.signingKeys.existingSecret=keys',
      'httpRoute.enabled=true',
      'httpRoute.parentRefs[0].name=front',
      'networkPolicy.enabled=true',
    ],
    paragraphs: [
      ...[installedIn('shop'), tryIt('shop', 8080, HTTP_COMMAND), signInTo('shop'), NO_POLICIES, HOT_RELOAD],
    ],
  },
  {
    name: 'only the authorization server, with accounts for development',
    set: [
      'gateway.enabled=false',
      'gateway.baseUrl=https://api.example.org',
      'authorizationServer.config.development=true',
      'networkPolicy.enabled=true',
    ],
    paragraphs: [
      ...[installedIn('shop'), signInTo('shop')],
      ...[EPHEMERAL_STORE, EPHEMERAL_SIGNING_KEYS, DEVELOPMENT_SIGN_IN],
    ],
  },
  {
    name: 'only gateways, with an issuer without TLS',
    set: [
      'replicaCount=2',
      'authorizationServer.enabled=false',
      'gateway.issuers[0].issuer=http://issuer.example.org',
      'gateway.issuers[0].jwt.type=JWT',
      'policies.configMaps={books}',
      'upstreams.books.url=http://books',
      'networkPolicy.enabled=true',
    ],
    paragraphs: [
      ...[installedIn('shop'), tryIt('shop', 8080, HTTP_COMMAND), HOT_RELOAD],
      httpIssuer('http://issuer.example.org'),
    ],
  },
]
