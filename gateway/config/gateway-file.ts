import Type from 'typebox'
import { DrainSchema } from '../../platform/config/drain-schema.ts'
import { ListenAddress } from '../../platform/config/listen-address.ts'
import { ManagementAddress } from '../../platform/config/management-address.ts'
import {
  AddressBlock,
  ByteSizeText,
  DurationText,
  FilePath,
  HttpOrigin,
  SecretText,
} from '../../platform/diagnostics/schema/value-schemas.ts'
import { IssuerSchema } from './issuer-schema.ts'
import { OverloadFile } from './overload-file.ts'
import { ResourceSchema } from './resource-schema.ts'

/** Upper limit of `workers`, far above any useful number. */
const MOST_WORKERS = 256

export const GatewayFile = Type.Object(
  {
    baseUrl: HttpOrigin('the public address; it is the resource that tokens are for'),
    name: Type.String({ description: 'what the API calls itself', minLength: 1, maxLength: 100 }),
    listen: ListenAddress('where the gateway listens'),
    management: ManagementAddress,
    tls: Type.Optional(
      Type.Object(
        {
          certFile: FilePath('file with the certificate and those that lead to its authority, in PEM'),
          keyFile: FilePath('file with its private key, in PEM'),
          minVersion: Type.Optional(
            Type.Enum(['TLSv1.2', 'TLSv1.3'], { description: 'oldest version: TLSv1.2 or TLSv1.3' }),
          ),
          clientCertificates: Type.Optional(
            Type.Object(
              {
                request: Type.Boolean({ description: 'whether clients are asked for a certificate' }),
                caFile: Type.Optional(
                  FilePath(
                    'file with the authorities that vouch for them, in PEM; without it, their key does',
                  ),
                ),
              },
              { description: 'certificates of clients, for tokens that are bound to one (RFC 8705)' },
            ),
          ),
        },
        { description: 'HTTPS without a proxy in front' },
      ),
    ),
    trustedProxies: Type.Optional(
      Type.Array(AddressBlock('a proxy in front, e.g. 10.0.0.0/8 or 192.0.2.7'), {
        description: 'proxies that are believed about the client address and the request id',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    forwardedHeader: Type.Optional(
      Type.Enum(['x-forwarded-for', 'forwarded'], {
        description: 'the header in which trusted proxies name the client: x-forwarded-for or forwarded',
      }),
    ),
    clientCertificateHeader: Type.Optional(
      Type.Object(
        {
          name: Type.Enum(['x-forwarded-client-cert', 'x-client-cert', 'ssl-client-cert'], {
            description: 'x-forwarded-client-cert, x-client-cert or ssl-client-cert',
          }),
          format: Type.Enum(['xfcc', 'pem-url', 'base64-der'], {
            description: 'xfcc (Envoy), pem-url (nginx) or base64-der (HAProxy)',
          }),
        },
        { description: "the header in which trusted proxies name the client's certificate" },
      ),
    ),
    workers: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: MOST_WORKERS })], {
        description: 'processes that serve: a number, or auto for one on each CPU',
      }),
    ),
    drain: Type.Optional(DrainSchema),
    policies: FilePath('folder of the policy files; the folders directly in it are read too'),
    policyReload: Type.Optional(
      Type.Enum(['watch', 'manual'], {
        description:
          'when changed policies come into force: watch (by themselves) or manual (on SIGHUP and POST /reload)',
      }),
    ),
    scopes: FilePath('the scope catalogue'),
    presets: Type.Optional(FilePath('what policies may extend')),
    upstreams: FilePath('where the upstreams are'),
    issuers: Type.Array(IssuerSchema, {
      description: 'who issues the tokens, each by its issuer URL',
      minItems: 1,
      maxItems: 100,
    }),
    resources: Type.Optional(
      Type.Array(ResourceSchema, {
        description: 'parts of the API that tokens are for on their own',
        maxItems: 1_000,
      }),
    ),
    dataDir: Type.Optional(
      FilePath("folder for copies of issuers' keys: with it a gateway can start while an issuer is away"),
    ),
    authorizationServer: Type.Optional(
      Type.Object(
        {
          upstream: Type.String({
            description: 'upstream of the authorization server',
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
                "the authorization server's metadata stands at /.well-known/oauth-authorization-server and a resource's path too",
            }),
          ),
        },
        { description: 'for clients that do not go by the book' },
      ),
    ),
    assertion: Type.Optional(
      Type.Object(
        {
          keyFile: Type.Optional(
            FilePath('file with the private keys that sign; without it one is generated at start'),
          ),
          ttl: Type.Optional(DurationText('how long an assertion is good: 5s to 60s')),
        },
        { description: 'the JWT that tells upstreams who calls' },
      ),
    ),
    tokenCache: Type.Optional(
      Type.Object(
        {
          maxEntries: Type.Optional(
            Type.Integer({ description: 'tokens to remember', minimum: 1, maximum: 10_000_000 }),
          ),
          maxBytes: Type.Optional(ByteSizeText('memory for tokens to remember')),
          maxTtl: Type.Optional(DurationText('how long a good token is remembered')),
          ttlWithoutPush: Type.Optional(
            DurationText('the same while revocations should be pushed and are not'),
          ),
          negativeTtl: Type.Optional(DurationText('how long a bad token is remembered')),
          shared: Type.Optional(
            Type.Boolean({ description: 'what was asked is told to the other gateways, through redis' }),
          ),
        },
        { description: 'what is remembered about tokens' },
      ),
    ),
    dpop: Type.Optional(
      Type.Object(
        {
          nonce: Type.Optional(
            Type.Enum(['off', 'required'], {
              description: 'whether proofs need a nonce that the gateway gave: off or required',
            }),
          ),
          nonceSecretFile: Type.Optional(
            FilePath('file with the secret that nonces are made with, the same for every replica'),
          ),
        },
        { description: 'tokens that are bound to a key of the client (RFC 9449)' },
      ),
    ),
    limits: Type.Optional(
      Type.Object(
        {
          body: Type.Optional(ByteSizeText('largest request body')),
          headers: Type.Optional(ByteSizeText('largest request head')),
          target: Type.Optional(ByteSizeText('longest path with query')),
          token: Type.Optional(ByteSizeText('longest Authorization header; no token above 8KiB is taken')),
          connections: Type.Optional(
            Type.Integer({ description: 'client connections at once', minimum: 1, maximum: 1_000_000 }),
          ),
        },
        { description: 'how much a request may hold' },
      ),
    ),
    overload: Type.Optional(OverloadFile),
    redis: Type.Optional(
      Type.Object(
        { url: SecretText('address of Redis: redis://… or rediss://…') },
        { description: 'what gateways share: rate limits, what they asked about tokens, revocations' },
      ),
    ),
    websockets: Type.Optional(
      Type.Object(
        {
          sessions: Type.Optional(
            Type.Integer({ description: 'open sessions of a process', minimum: 0, maximum: 1_000_000 }),
          ),
          sessionsPerCaller: Type.Optional(
            Type.Integer({
              description: 'open sessions of one subject or, without a token, of one address',
              minimum: 0,
              maximum: 1_000_000,
            }),
          ),
        },
        { description: 'how many WebSocket sessions there may be' },
      ),
    ),
    debug: Type.Optional(
      Type.Object(
        {
          policyHeader: Type.Optional(
            Type.Boolean({
              description: 'every answer names the policies it was given by: x-scopegate-policy',
            }),
          ),
        },
        { description: 'for finding out why something is as it is' },
      ),
    ),
    log: Type.Optional(
      Type.Object(
        {
          level: Type.Optional(
            Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
              description: 'trace, debug, info, warn, error, fatal or silent',
            }),
          ),
          subject: Type.Optional(
            Type.Enum(['hashed', 'plain'], { description: 'how subjects are shown: hashed or plain' }),
          ),
        },
        { description: 'the log on standard output' },
      ),
    ),
  },
  { description: 'config/gateway.yaml' },
)

/** Content of config/gateway.yaml, before units are converted. */
export type GatewayFile = Type.Static<typeof GatewayFile>
