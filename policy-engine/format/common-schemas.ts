import Type from 'typebox'
import { TimeoutText, WindowText } from '../../platform/diagnostics/schema/value-schemas.ts'

/** Accepts keys that start with `x-` in every object. The gateway ignores them. */
export const open = { additionalProperties: false, patternProperties: { '^x-': {} } } as const

export const Anonymous = Type.Enum(['allow', 'challenge', 'deny'], {
  description:
    'Requests without a token: allow (the default, but write it) serves them without identity and without the scopes; challenge answers 401 with the way to a token; deny answers 401 without it.',
})

export const Extends = Type.String({
  description:
    'A preset of config/presets.yaml. Its values apply to keys that neither the route nor the defaults of its policy set.',
  minLength: 1,
  maxLength: 63,
})

export const Mount = Type.String({
  description:
    'The prefix below which clients reach the path, for example /trains: literal segments, or / for none. It is removed for the upstream; a rewrite replaces the whole path instead.',
  minLength: 1,
})

export const Enforce = Type.Enum(['on', 'report'], {
  description:
    'on (the default): the gateway applies every refusal of the policy. report: it logs and counts a missing token, a missing scope and a failed condition, and serves the request. It always rejects an invalid token.',
})

export const UpstreamAuth = Type.Enum(['none', 'assertion', 'forward'], {
  description:
    'Credentials for the upstream besides the x-auth headers. none (the default): nothing; assertion: a short-lived JWT in x-auth-assertion, signed by the gateway; forward: the unchanged Authorization header.',
})

export const Scopes = Type.Array(
  Type.String({ description: 'A scope of config/scopes.yaml.', minLength: 1, maxLength: 256 }),
  {
    description: 'Scopes of config/scopes.yaml.',
    minItems: 1,
    uniqueItems: true,
  },
)

export const Name = (description: string) =>
  Type.String({
    description,
    pattern: '^[a-z][a-z0-9-]{0,62}$',
    'x-is': 'a name: small letters, digits and -, starting with a letter',
  })

export const IdleTimeout = TimeoutText(
  'The longest silence inside an answer, of the upstream or of a client that reads none of it.',
)

export const Retries = Type.Object(
  {
    attempts: Type.Integer({
      description: 'How often a request is sent at most, the first time included.',
      minimum: 2,
      maximum: 5,
    }),
    on: Type.Array(
      Type.Enum(['connect', 'reset', 503], {
        description:
          'connect: there was no connection; reset: it broke before the answer began; 503: the upstream answered so.',
      }),
      {
        description: 'The failures after which the gateway sends a request again.',
        minItems: 1,
        uniqueItems: true,
      },
    ),
  },
  {
    ...open,
    description:
      'Sends GET, HEAD, OPTIONS, PUT and DELETE again, to another address of the upstream where there is one, as long as nothing of a body was sent and nothing of an answer came. At most one request in five is sent again.',
  },
)

export const RateLimit = Type.Object(
  {
    requests: Type.Integer({ description: 'So many requests …', minimum: 1, maximum: 1_000_000 }),
    per: WindowText('… in so long a time, all at once or spread over it.'),
    by: Type.Enum(['client', 'subject', 'ip', 'route'], {
      description:
        'The unit of the count: each client, each subject, each address, or all callers of the route together. Requests without a token count by address.',
    }),
  },
  { ...open, description: 'How often a caller may ask; more is 429. Each route is counted for itself.' },
)
