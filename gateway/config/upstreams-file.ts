import type { Static } from 'typebox'
import { DPOP_ALGORITHMS } from '../../oauth/dpop/algorithms.ts'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { FilePath, HttpAddress, TimeoutText } from '../../platform/diagnostics/schema/value-schemas.ts'

const HeaderCredential = Type.Object(
  {
    name: Type.String({
      description: 'name of the header, such as X-Api-Key or Authorization',
      maxLength: 100,
      pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
      'x-is': 'a header name such as X-Api-Key',
    }),
    valueFile: FilePath('file with the complete value of the header, on one line'),
  },
  { description: 'a header with a fixed value, such as an API key' },
)

const BasicCredential = Type.Object(
  {
    username: Type.String({
      description: 'user name',
      minLength: 1,
      maxLength: 256,
      pattern: '^[^:\\x00-\\x1f\\x7f]+$',
      'x-is': 'a user name without a colon',
    }),
    passwordFile: FilePath('file with the password, on one line'),
  },
  { description: 'Basic authentication (RFC 7617)' },
)

const PrivateKeyJwt = Type.Object(
  {
    keyFile: FilePath('file with the private key, in PEM or as a JWK'),
    issuer: HttpAddress('issuer identifier of the authorization server, the `aud` of the assertion'),
    keyId: Type.Optional(
      Type.String({
        description: '`kid` of the assertion; default: `kid` of the JWK, or the thumbprint of the key',
        minLength: 1,
        maxLength: 256,
      }),
    ),
    algorithm: Type.Optional(
      Type.Enum([...DPOP_ALGORITHMS], {
        description:
          'signature algorithm; default: `alg` of the JWK, or ES256, ES384, EdDSA or RS256 for the kind of key',
      }),
    ),
  },
  {
    description:
      'client authentication with a signed assertion (RFC 7523 section 2.2) in place of a client secret',
  },
)

const ClientCredentials = Type.Object(
  {
    tokenEndpoint: HttpAddress('URL of the token endpoint, with https or on this machine'),
    clientId: Type.String({
      description: 'client ID of the gateway at the token endpoint',
      minLength: 1,
      maxLength: 256,
    }),
    clientSecretFile: Type.Optional(
      FilePath('file with the client secret, on one line; required without privateKeyJwt'),
    ),
    privateKeyJwt: Type.Optional(PrivateKeyJwt),
    authMethod: Type.Optional(
      Type.Enum(['client_secret_basic', 'client_secret_post'], {
        description: 'place of the client secret: the Authorization header, or the form',
      }),
    ),
    scopes: Type.Optional(
      Type.Array(
        Type.String({
          maxLength: 256,
          pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
          'x-is': 'a scope without spaces',
        }),
        { description: 'scopes of the token', minItems: 1, maxItems: 100, uniqueItems: true },
      ),
    ),
    resource: Type.Optional(HttpAddress('resource of the token (RFC 8707)')),
    audience: Type.Optional(
      Type.String({
        description: 'parameter audience of the token request, for servers that do not support resource',
        maxLength: 1_000,
        pattern: '^[\\x21-\\x7e]+$',
        'x-is': 'a text without spaces, such as https://api.example.com',
      }),
    ),
    caFile: Type.Optional(
      FilePath(
        'PEM file with the CA certificates of the token endpoint, which replace the public CA certificates',
      ),
    ),
  },
  { description: 'a token that the gateway fetches with client credentials (RFC 6749 section 4.4)' },
)

const Credentials = Type.Object(
  {
    header: Type.Optional(HeaderCredential),
    basic: Type.Optional(BasicCredential),
    clientCredentials: Type.Optional(ClientCredentials),
  },
  { description: 'credentials of the gateway at the upstream: exactly one of these keys' },
)

/** A path and a query. With `//` at the start, a server could read the next part as the name of a host. */
const PATH_PATTERN = '^/([\\x21\\x22\\x24-\\x2e\\x30-\\x7e][\\x21\\x22\\x24-\\x7e]*)?$'

const results = (description: string) => Type.Integer({ description, minimum: 1, maximum: 100 })

const HealthCheck = Type.Object(
  {
    path: Type.String({
      description: 'path of the probes, after the path of the URL',
      maxLength: 1_000,
      pattern: PATH_PATTERN,
      'x-is': 'a path such as /healthz, with one slash at the start',
    }),
    interval: Type.Optional(
      Type.String({
        description: 'pause between two probes of an address, in each worker',
        pattern: '^[1-9][0-9]{0,3}[sm]$',
        'x-is': 'a duration such as 5s or 1m, from 1s to 9999m',
      }),
    ),
    timeout: Type.Optional(TimeoutText('time of a probe, connection and response included')),
    unhealthyAfter: Type.Optional(
      results('consecutive failed probes after which an address gets no requests'),
    ),
    healthyAfter: Type.Optional(
      results('consecutive successful probes after which an unhealthy address gets requests again'),
    ),
    statuses: Type.Optional(
      Type.Array(Type.Integer({ description: 'a status', minimum: 200, maximum: 599 }), {
        description: 'statuses of a successful probe; default 200 to 399',
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
      }),
    ),
  },
  { description: 'probes that find unhealthy addresses' },
)

export const UpstreamEntry = Type.Object(
  {
    url: Type.Optional(
      HttpAddress(
        'URL of the upstream; the gateway puts the path of this URL before the path of every upstream request',
      ),
    ),
    urls: Type.Optional(
      Type.Array(HttpAddress('an address of the upstream'), {
        description: 'several addresses of one upstream, all with the same path; replaces url',
        minItems: 1,
        maxItems: 64,
        uniqueItems: true,
      }),
    ),
    srv: Type.Optional(
      Type.String({
        description:
          'URL whose host is the name of SRV records (RFC 2782), which contain the addresses; replaces url',
        maxLength: 300,
        pattern: '^https?://_[a-z0-9-]{1,62}\\._tcp(\\.[A-Za-z0-9_-]{1,63})+(/[^\\s?#@\\\\]*)?$',
        'x-is':
          'a URL such as http://_http._tcp.api.default.svc.cluster.local, without port, query or fragment',
      }),
    ),
    weights: Type.Optional(
      Type.Array(
        Type.Integer({ description: 'share of an address; 0: no requests', minimum: 0, maximum: 1_000 }),
        {
          description:
            'weight of each address in urls, in the same order; without weights, the address with the fewest outstanding requests gets the next request',
          minItems: 1,
          maxItems: 64,
        },
      ),
    ),
    caFile: Type.Optional(
      FilePath('PEM file with CA certificates, which replace the public CA certificates'),
    ),
    certFile: Type.Optional(
      FilePath('PEM file with the client certificate of the gateway; requires keyFile'),
    ),
    keyFile: Type.Optional(FilePath('PEM file with the private key of certFile')),
    credentials: Type.Optional(Credentials),
    timeout: Type.Optional(TimeoutText('time to first byte of a response, retries included')),
    connectTimeout: Type.Optional(TimeoutText('time to connect, TLS handshake included')),
    idleTimeout: Type.Optional(TimeoutText('longest time that a response may stall on either side')),
    maxConnections: Type.Optional(
      Type.Integer({
        description: 'maximum number of open connections to each address, divided among the workers',
        minimum: 1,
        maximum: 1_000_000,
      }),
    ),
    maxPendingRequests: Type.Optional(
      Type.Integer({
        description:
          'maximum number of requests that wait for a connection, divided among the workers; requires maxConnections',
        minimum: 0,
        maximum: 1_000_000,
      }),
    ),
    queueTimeout: Type.Optional(
      TimeoutText('longest time that a request waits for a connection; requires maxPendingRequests'),
    ),
    ejection: Type.Optional(
      Type.Object(
        {
          failures: Type.Optional(
            Type.Integer({
              description: 'consecutive failures after which an address gets no requests',
              minimum: 1,
              maximum: 1_000,
            }),
          ),
          for: Type.Optional(
            TimeoutText(
              'longest pause between two trials of an address that accepts connections but does not respond',
            ),
          ),
        },
        { description: 'ejection of addresses that fail' },
      ),
    ),
    healthCheck: Type.Optional(HealthCheck),
    openapi: Type.Optional(
      Type.String({
        description: "path of the upstream's OpenAPI document",
        pattern: PATH_PATTERN,
        'x-is': 'a path such as /openapi.json, with one slash at the start',
      }),
    ),
  },
  { description: 'an upstream' },
)

export const UpstreamsFile = Type.Record(
  Type.String({ pattern: '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$' }),
  UpstreamEntry,
  { description: 'config/upstreams.yaml', additionalProperties: false, minProperties: 1 },
)

export type UpstreamEntry = Static<typeof UpstreamEntry>

export type CredentialsEntry = Static<typeof Credentials>

export type UpstreamsFile = Readonly<Record<string, UpstreamEntry>>

/** Returns the URLs of an upstream. With `srv`, the host of the only URL is the name of SRV records. */
export function addressesOf({ url, urls, srv }: UpstreamEntry): readonly string[] {
  if (urls !== undefined) return urls
  return [url ?? srv].filter((one) => one !== undefined)
}

/** Returns the names of the headers with credentials of the gateway, by upstream. */
export function credentialHeadersOf(upstreams: UpstreamsFile): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(upstreams).flatMap(([name, { credentials }]) =>
      credentials === undefined ? [] : [[name, credentials.header?.name ?? 'Authorization'] as const],
    ),
  )
}
