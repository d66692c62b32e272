import Type from 'typebox'
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
    uri: Type.Optional(HttpAddress('address of its key set')),
    file: Type.Optional(FilePath('file with its key set')),
  },
  { description: "where the issuer's keys are; without it the issuer's own metadata tells" },
)

const Jwt = Type.Object(
  {
    algorithms: Type.Optional(
      Type.Array(Type.String({ description: 'a signature algorithm such as ES256', maxLength: 20 }), {
        description: 'signature algorithms that are taken, asymmetric ones only',
        minItems: 1,
        maxItems: 11,
        uniqueItems: true,
      }),
    ),
    type: Type.Optional(
      Type.Enum(['at+jwt', 'JWT', 'any'], {
        description: 'what `typ` has to be: at+jwt, JWT, or any where the issuer may leave it out',
      }),
    ),
    keys: Type.Optional(Keys),
    refresh: Type.Optional(TimeoutText('keys are fetched anew within this')),
    cooldown: Type.Optional(
      TimeoutText('after an unknown kid, no other one makes the gateway fetch for this long'),
    ),
    maxStale: Type.Optional(
      TimeoutText('keys that could not be fetched anew for this long are used no longer'),
    ),
    timeout: Type.Optional(TimeoutText('how long the issuer may take to give a document')),
    audience: Type.Optional(
      Type.Array(Type.String({ description: 'a value of aud', minLength: 1, maxLength: 2048 }), {
        description: "the issuer's own names for this API: values of aud that stand for baseUrl",
        maxItems: 50,
        uniqueItems: true,
      }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          scope: Type.Optional(ClaimNames('claims that may hold the scopes; the first that is there counts')),
          client: Type.Optional(
            ClaimNames('claims that may name the client; the first that is there counts'),
          ),
          subject: Type.Optional(ClaimName('claim that names whose data it is')),
        },
        { description: 'where in its tokens things stand' },
      ),
    ),
    clockTolerance: Type.Optional(
      DurationText('by how much the clocks may differ: at most 60s, in whole seconds'),
    ),
  },
  { description: 'its JWTs are verified here' },
)

export const IssuerSchema = Type.Object(
  {
    issuer: HttpAddress('the issuer, exactly as it stands in its metadata and tokens'),
    caFile: Type.Optional(
      FilePath('file with the authorities that vouch for it, in place of the public ones, in PEM'),
    ),
    jwt: Type.Optional(Jwt),
    introspection: Type.Optional(
      Type.Object(
        {
          endpoint: HttpAddress('its introspection endpoint, reached directly'),
          clientId: Type.String({ description: "the gateway's client_id", minLength: 1, maxLength: 100 }),
          clientSecretFile: FilePath("file with the gateway's client_secret"),
          timeout: Type.Optional(TimeoutText('how long an answer may take')),
          maxConcurrent: Type.Optional(
            Type.Integer({ description: 'questions on their way at once', minimum: 1, maximum: 10_000 }),
          ),
          maxQueue: Type.Optional(
            Type.Integer({ description: 'questions that wait for their turn', minimum: 0, maximum: 100_000 }),
          ),
          ttl: Type.Optional(
            DurationText('an answer is used no longer than this, nor than tokenCache.maxTtl'),
          ),
          signed: Type.Optional(
            Type.Boolean({ description: 'answers are JWTs that the issuer signed (RFC 9701)' }),
          ),
        },
        { description: 'how the gateway asks about tokens' },
      ),
    ),
    revocations: Type.Optional(HttpAddress('stream that tells about revoked tokens')),
    securityEvents: Type.Optional(
      Type.Object(
        {
          audience: Type.Array(
            Type.String({ description: 'a value of aud', minLength: 1, maxLength: 2048 }),
            {
              description: 'what it calls this gateway: values of aud',
              minItems: 1,
              maxItems: 50,
              uniqueItems: true,
            },
          ),
        },
        { description: 'it may send Security Event Tokens (RFC 8935)' },
      ),
    ),
  },
  { description: 'who issues tokens' },
)

export type IssuerEntry = Type.Static<typeof IssuerSchema>
