import type { Static } from 'typebox'
import { DrainSchema } from '../../platform/config/drain-schema.ts'
import { ConsoleAddress, ListenAddress } from '../../platform/config/listen-address.ts'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import {
  AddressBlock,
  ByteSizeText,
  DurationText,
  FilePath,
  HttpOrigin,
} from '../../platform/diagnostics/schema/value-schemas.ts'
import { LOG_KEYS } from '../../platform/logging/log-schema.ts'
import { RedisConnectionSchema } from '../../platform/redis/redis-connection.ts'
import { TracingSchema } from '../../platform/tracing/tracing-schema.ts'
import { IssuerSchema } from './issuer-schema.ts'
import { OverloadFile } from './overload-file.ts'
import { PolicySourceSchema } from './policy-source-schema.ts'
import { ResourceSchema } from './resource-schema.ts'

const MAX_WORKERS = 256

/** Headers with another meaning are not possible: the ingress would overwrite data of the client. */
const OriginalHeader = (description: string) =>
  Type.String({
    description,
    maxLength: 64,
    pattern: '^[Xx]-(?![Aa][Uu][Tt][Hh]-|[Ff][Oo][Rr][Ww][Aa][Rr][Dd][Ee][Dd]-[Ff][Oo][Rr]$)[A-Za-z0-9-]+$',
    'x-is': 'a header name such as X-Original-Method, without X-Auth-* and X-Forwarded-For',
  })

export const GatewayFile = Type.Object(
  {
    baseUrl: HttpOrigin('public URL and resource identifier of the API'),
    name: Type.String({ description: 'name of the API', minLength: 1, maxLength: 100 }),
    listen: ListenAddress('address of the listener for clients'),
    management: ConsoleAddress,
    decisions: Type.Optional(
      Type.Object(
        {
          listen: ListenAddress('address of the listener for decisions'),
          protocol: Type.Enum(['auth-request', 'forward-auth', 'ext-authz-http', 'ext-authz-grpc'], {
            description:
              'how the ingress asks: auth-request (nginx), forward-auth (HAProxy, Apache, Caddy, Traefik), or ext-authz-http or ext-authz-grpc (Envoy)',
          }),
          headers: Type.Optional(
            Type.Object(
              {
                method: Type.Optional(OriginalHeader('method of the client')),
                target: Type.Optional(OriginalHeader('path and query of the client')),
                clientAddress: Type.Optional(
                  OriginalHeader('address of the client, as in X-Forwarded-For; default: forwardedHeader'),
                ),
              },
              {
                description: 'other headers of the original request, for auth-request and forward-auth',
                minProperties: 1,
              },
            ),
          ),
        },
        { description: 'decisions for requests that another ingress forwards' },
      ),
    ),
    tls: Type.Optional(
      Type.Object(
        {
          certFile: FilePath('PEM file with the certificate and its intermediate certificates'),
          keyFile: FilePath('PEM file with the private key of the certificate'),
          minVersion: Type.Optional(
            Type.Enum(['TLSv1.2', 'TLSv1.3'], {
              description: 'oldest accepted version of TLS: TLSv1.2 or TLSv1.3',
            }),
          ),
          http2: Type.Optional(
            Type.Boolean({
              description: 'whether the gateway offers HTTP/2 to clients in addition to HTTP/1.1',
            }),
          ),
          clientCertificates: Type.Optional(
            Type.Object(
              {
                request: Type.Boolean({ description: 'whether the gateway requests client certificates' }),
                caFile: Type.Optional(
                  FilePath(
                    'PEM file with the CA certificates of clients; without this file, any certificate is accepted',
                  ),
                ),
              },
              { description: 'client certificates, for certificate-bound tokens (RFC 8705)' },
            ),
          ),
        },
        { description: 'TLS on the public port' },
      ),
    ),
    trustedProxies: Type.Optional(
      Type.Array(AddressBlock('a trusted proxy such as 10.0.0.0/8 or 192.0.2.7'), {
        description: 'proxies that are trusted for the client address and the request ID',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    forwardedHeader: Type.Optional(
      Type.Enum(['x-forwarded-for', 'forwarded'], {
        description: 'header with the client address from trusted proxies: x-forwarded-for or forwarded',
      }),
    ),
    clientCertificateHeader: Type.Optional(
      Type.Object(
        {
          name: Type.Enum(['x-forwarded-client-cert', 'x-client-cert', 'ssl-client-cert'], {
            description: 'name of the header: x-forwarded-client-cert, x-client-cert or ssl-client-cert',
          }),
          format: Type.Enum(['xfcc', 'pem-url', 'base64-der'], {
            description: 'encoding of the certificate: xfcc (Envoy), pem-url (nginx) or base64-der (HAProxy)',
          }),
        },
        { description: 'header with the client certificate from trusted proxies' },
      ),
    ),
    workers: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: MAX_WORKERS })], {
        description: 'number of worker processes, or auto for one per CPU',
        'x-is': `auto (one worker per CPU) or a whole number from 1 to ${MAX_WORKERS}`,
      }),
    ),
    drain: Type.Optional(DrainSchema),
    policies: Type.Optional(FilePath('folder of the policy files, read with the direct subfolders')),
    policySources: Type.Optional(
      Type.Array(PolicySourceSchema, {
        description: 'policy folders with their owners and permissions; this key replaces the key policies',
        minItems: 1,
        maxItems: 1_000,
      }),
    ),
    onInvalidPolicy: Type.Optional(
      Type.Enum(['keep', 'fail'], {
        description:
          'effect of a policy source that is not valid: keep (its last valid version stays active, the default) or fail (no source is activated)',
      }),
    ),
    policyReload: Type.Optional(
      Type.Enum(['watch', 'manual'], {
        description:
          'how changed policies are reloaded: watch (automatically) or manual (on SIGHUP and POST /reload)',
      }),
    ),
    scopes: FilePath('file with the scope catalogue'),
    presets: Type.Optional(FilePath('file with the presets for policies')),
    upstreams: FilePath('file with the upstreams'),
    issuers: Type.Array(IssuerSchema, {
      description: 'issuers of access tokens',
      minItems: 1,
      maxItems: 100,
    }),
    resources: Type.Optional(
      Type.Array(ResourceSchema, {
        description: 'parts of the API with their own tokens',
        maxItems: 1_000,
      }),
    ),
    dataDir: Type.Optional(
      FilePath('folder for cached issuer keys, and for the last valid version of each policy source'),
    ),
    authorizationServer: Type.Optional(
      Type.Object(
        {
          upstream: Type.String({
            description: 'name of the authorization server in upstreams.yaml',
            minLength: 1,
            maxLength: 64,
          }),
        },
        { description: 'the bundled authorization server' },
      ),
    ),
    compat: Type.Optional(
      Type.Object(
        {
          resourcePathAliases: Type.Optional(
            Type.Boolean({
              description:
                'whether the gateway also serves the metadata of the authorization server below the paths of resources',
            }),
          ),
        },
        { description: 'compatibility with clients that deviate from the standards' },
      ),
    ),
    assertion: Type.Optional(
      Type.Object(
        {
          keyFile: Type.Optional(
            FilePath(
              'PEM file with the signing keys; without this file, the gateway generates a key at start',
            ),
          ),
          ttl: Type.Optional(DurationText('lifetime of an assertion: 5s to 60s')),
        },
        { description: 'the JWT that identifies the caller to upstreams' },
      ),
    ),
    identity: Type.Optional(
      Type.Object(
        {
          claims: Type.Optional(
            Type.Array(
              Type.String({
                description: 'a claim of the token',
                pattern: '^[a-z][a-z0-9_]{0,63}$',
                'x-is': 'a claim with lower-case letters, digits and _, such as groups',
              }),
              {
                description:
                  'claims that upstreams get, in x-auth-claim headers and in the assertion; default: none',
                minItems: 1,
                maxItems: 16,
                uniqueItems: true,
              },
            ),
          ),
        },
        { description: 'claims of the caller for upstreams' },
      ),
    ),
    tokenCache: Type.Optional(
      Type.Object(
        {
          maxEntries: Type.Optional(
            Type.Integer({ description: 'maximum number of cached tokens', minimum: 1, maximum: 10_000_000 }),
          ),
          maxBytes: Type.Optional(ByteSizeText('memory limit of the token cache')),
          maxTtl: Type.Optional(DurationText('cache time for an active token')),
          ttlWithoutPush: Type.Optional(
            DurationText('cache time for an active token while the revocation stream is down'),
          ),
          negativeTtl: Type.Optional(DurationText('cache time for an inactive token')),
          shared: Type.Optional(
            Type.Boolean({ description: 'whether gateways share introspection results through Redis' }),
          ),
        },
        { description: 'cache of token status' },
      ),
    ),
    dpop: Type.Optional(
      Type.Object(
        {
          nonce: Type.Optional(
            Type.Enum(['off', 'required'], {
              description: 'whether proofs need a nonce from the gateway: off or required',
            }),
          ),
          nonceSecretFile: Type.Optional(
            FilePath(
              'file with the secrets for nonces, one per line, newest first; every replica needs the same secrets',
            ),
          ),
        },
        { description: 'tokens that are bound to a client key: DPoP (RFC 9449)' },
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          body: Type.Optional(ByteSizeText('largest request body')),
          headers: Type.Optional(ByteSizeText('largest request head')),
          target: Type.Optional(ByteSizeText('longest path with query')),
          token: Type.Optional(ByteSizeText('longest Authorization header; tokens above 8KiB are rejected')),
          connections: Type.Optional(
            Type.Integer({
              description: 'maximum number of concurrent client connections',
              minimum: 1,
              maximum: 1_000_000,
            }),
          ),
        },
        { description: 'limits for requests and connections' },
      ),
    ),
    overload: Type.Optional(OverloadFile),
    redis: Type.Optional(
      RedisConnectionSchema(
        'state that gateways share: rate limits, introspection results, used DPoP proofs, revocations',
      ),
    ),
    revocationRedis: Type.Optional(
      RedisConnectionSchema(
        'the Redis that contains the revocations of the authorization server; default: redis',
      ),
    ),
    websockets: Type.Optional(
      Type.Object(
        {
          sessions: Type.Optional(
            Type.Integer({
              description: 'maximum number of open sessions per process',
              minimum: 0,
              maximum: 1_000_000,
            }),
          ),
          sessionsPerCaller: Type.Optional(
            Type.Integer({
              description: 'maximum number of open sessions per subject or, without a token, per IP address',
              minimum: 0,
              maximum: 1_000_000,
            }),
          ),
        },
        { description: 'limits for WebSocket sessions' },
      ),
    ),
    docs: Type.Optional(
      Type.Object(
        {
          enabled: Type.Optional(
            Type.Boolean({
              description:
                'whether the gateway serves the pages below /docs and /llms.txt; a route of a policy replaces them',
            }),
          ),
          clientId: Type.Optional(
            Type.String({
              description:
                'public client for the sign-in of the API reference, with the redirect URI <baseUrl>/docs/signed-in',
              minLength: 1,
              maxLength: 2_048,
            }),
          ),
        },
        { description: 'pages for developers on the public port' },
      ),
    ),
    debug: Type.Optional(
      Type.Object(
        {
          policyHeader: Type.Optional(
            Type.Boolean({
              description: 'whether every response contains its policy version: x-scopegate-policy',
            }),
          ),
        },
        { description: 'settings for troubleshooting' },
      ),
    ),
    log: Type.Optional(
      Type.Object(
        {
          ...LOG_KEYS,
          subject: Type.Optional(
            Type.Enum(['hashed', 'plain'], { description: 'format of subjects in the log: hashed or plain' }),
          ),
        },
        { description: 'the log on standard output' },
      ),
    ),
    tracing: Type.Optional(
      TracingSchema(
        ['trusted-proxies', 'always', 'never'],
        'peers whose trace the gateway continues: trusted-proxies (default), always or never',
      ),
    ),
  },
  { description: 'config/gateway.yaml' },
)

/** Content of config/gateway.yaml, before units are converted. */
export type GatewayFile = Static<typeof GatewayFile>
