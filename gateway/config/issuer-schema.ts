import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import {
  DurationText,
  FilePath,
  HttpAddress,
  TimeoutText,
} from '../../platform/diagnostics/schema/value-schemas.ts'

const ClaimName = (description: string) => Type.String({ description, minLength: 1, maxLength: 100 })
const ClaimNames = (description: string) =>
  Type.Array(ClaimName('name of a claim'), { description, minItems: 1, maxItems: 10, uniqueItems: true })

const Keys = Type.Object(
  {
    uri: Type.Optional(HttpAddress("address of the issuer's key set")),
    file: Type.Optional(FilePath("file with the issuer's key set")),
  },
  { description: "location of the issuer's keys; default: the location in its metadata" },
)

const Jwt = Type.Object(
  {
    algorithms: Type.Optional(
      Type.Array(Type.String({ description: 'a signature algorithm such as ES256', maxLength: 20 }), {
        description: 'accepted signature algorithms; only asymmetric algorithms are allowed',
        minItems: 1,
        maxItems: 11,
        uniqueItems: true,
      }),
    ),
    type: Type.Optional(
      Type.Enum(['at+jwt', 'JWT', 'any'], {
        description: 'required `typ`: at+jwt, JWT, or any; with any, `typ` may be missing',
      }),
    ),
    keys: Type.Optional(Keys),
    refresh: Type.Optional(TimeoutText('interval at which keys are fetched')),
    cooldown: Type.Optional(TimeoutText('minimum time between two fetches for unknown key IDs')),
    maxStale: Type.Optional(TimeoutText('maximum age of keys while fetches fail')),
    timeout: Type.Optional(TimeoutText('timeout for fetching a document from the issuer')),
    audience: Type.Optional(
      Type.Array(Type.String({ description: 'a value of aud', minLength: 1, maxLength: 2048 }), {
        description: 'accepted values of aud, in addition to baseUrl',
        maxItems: 50,
        uniqueItems: true,
      }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          scope: Type.Optional(
            ClaimNames(
              'claims that may contain the scopes; the gateway uses the first claim that is present',
            ),
          ),
          client: Type.Optional(
            ClaimNames(
              'claims that may contain the client ID; the gateway uses the first claim that is present',
            ),
          ),
          subject: Type.Optional(ClaimName('claim with the subject')),
        },
        { description: "names of the claims in the issuer's tokens" },
      ),
    ),
    clockTolerance: Type.Optional(DurationText('tolerated clock difference: at most 60s, in whole seconds')),
    maxRevocationDelay: Type.Optional(
      TimeoutText(
        'maximum delay of a revocation while the revocation stream is down; default: until the token expires',
      ),
    ),
  },
  { description: "validation of the issuer's JWTs in the gateway" },
)

export const IssuerSchema = Type.Object(
  {
    issuer: HttpAddress('issuer identifier, exactly as in the metadata and tokens of the issuer'),
    caFile: Type.Optional(
      FilePath('PEM file with CA certificates, which replace the public CA certificates'),
    ),
    jwt: Type.Optional(Jwt),
    introspection: Type.Optional(
      Type.Object(
        {
          endpoint: HttpAddress(
            'introspection endpoint of the issuer, called directly and not through this gateway',
          ),
          clientId: Type.String({ description: "the gateway's client_id", minLength: 1, maxLength: 100 }),
          clientSecretFile: FilePath("file with the gateway's client_secret"),
          timeout: Type.Optional(
            TimeoutText('longest time from the call to the end of the response, with the time in the queue'),
          ),
          maxConcurrent: Type.Optional(
            Type.Integer({
              description: 'maximum number of concurrent introspection requests',
              minimum: 1,
              maximum: 10_000,
            }),
          ),
          maxQueue: Type.Optional(
            Type.Integer({
              description: 'maximum number of queued introspection requests',
              minimum: 0,
              maximum: 100_000,
            }),
          ),
          ttl: Type.Optional(DurationText('cache time for a result, limited by tokenCache.maxTtl')),
          signed: Type.Optional(
            Type.Boolean({ description: 'whether results are JWTs signed by the issuer (RFC 9701)' }),
          ),
        },
        { description: 'token introspection (RFC 7662)' },
      ),
    ),
    staleIfError: Type.Optional(
      DurationText(
        'time after the cache time in which the gateway accepts known tokens if the issuer does not respond; 0s: never',
      ),
    ),
    revocations: Type.Optional(HttpAddress('address of the revocation stream')),
    securityEvents: Type.Optional(
      Type.Object(
        {
          audience: Type.Array(
            Type.String({ description: 'a value of aud', minLength: 1, maxLength: 2048 }),
            {
              description: 'values of aud that identify this gateway',
              minItems: 1,
              maxItems: 50,
              uniqueItems: true,
            },
          ),
        },
        { description: 'reception of Security Event Tokens from the issuer (RFC 8935)' },
      ),
    ),
  },
  { description: 'an issuer of access tokens' },
)

export type IssuerEntry = Static<typeof IssuerSchema>
