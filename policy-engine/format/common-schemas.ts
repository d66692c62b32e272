import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { TimeoutText, WindowText } from '../../platform/diagnostics/schema/value-schemas.ts'

/** Accepts keys that start with `x-` in every object. The gateway ignores these keys. */
export const open = { additionalProperties: false, patternProperties: { '^x-': {} } } as const

export const Anonymous = Type.Enum(['allow', 'challenge', 'deny'], {
  description:
    'Requests without a token. allow (the default; write it explicitly): the gateway serves the request without identity and without a check of the scopes. challenge: the gateway responds 401 with information on how to get a token. deny: the gateway responds 401 without that information.',
})

export const Authentication = Type.Object(
  {
    acr: Type.Optional(
      Type.Array(
        Type.String({
          description: 'An authentication context class: a value of the claim acr.',
          // The values become one quoted text in the challenge. RFC 9470 section 3 separates them by spaces.
          pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
          maxLength: 256,
          'x-is': 'a printable text without spaces, quotes and backslashes',
        }),
        {
          description: 'The accepted authentication context classes, in order of preference.',
          minItems: 1,
          maxItems: 16,
          uniqueItems: true,
        },
      ),
    ),
    maxAge: Type.Optional(WindowText('The maximum time since the person signed in (claim auth_time).')),
  },
  {
    ...open,
    minProperties: 1,
    description:
      'The required sign-in of the person. For a token from an older or weaker sign-in, the gateway responds 401 insufficient_user_authentication, which asks the client for a new sign-in (RFC 9470).',
  },
)

export const Extends = Type.String({
  description:
    'A preset of config/presets.yaml. Its values apply to keys that the route and the defaults of its policy do not set.',
  minLength: 1,
  maxLength: 63,
})

export const Mount = Type.String({
  description:
    'The path prefix for clients, for example /trains: literal segments, or / for no prefix. The upstream gets the path without the prefix. A rewrite replaces the complete path.',
  minLength: 1,
})

export const Enforce = Type.Enum(['on', 'report'], {
  description:
    'on (the default): the gateway enforces the policy. report: the gateway serves requests that the policy denies, and logs and counts each denial. The gateway always rejects an invalid token.',
})

export const Mcp = Type.Object(
  {
    readBody: Type.Optional(
      Type.Boolean({
        description:
          'Whether the gateway reads the method and the name of an MCP call from the body of a POST request, at most 64 KiB. The values replace the headers mcp-method and mcp-name in match.headers. All routes with the same path must have the same value.',
      }),
    ),
    filterTools: Type.Optional(
      Type.Boolean({
        description:
          'Whether the gateway removes the tools that the caller may not use from the response to tools/list, at most 1 MiB. Includes readBody.',
      }),
    ),
  },
  { ...open, minProperties: 1, description: 'Handling of the messages of MCP, the Model Context Protocol.' },
)

export const UpstreamAuth = Type.Enum(['none', 'assertion', 'forward'], {
  description:
    'Credentials for the upstream besides the x-auth headers. none (the default): nothing; assertion: a short-lived JWT in x-auth-assertion, signed by the gateway; forward: the unchanged Authorization and Cookie headers.',
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
    'x-is': 'a name of 1 to 63 lower-case letters, digits and -, starting with a letter',
  })

export const IdleTimeout = TimeoutText('How long a response may stall on either side.')

export const Retries = Type.Object(
  {
    attempts: Type.Integer({
      description: 'The maximum number of attempts, including the first attempt.',
      minimum: 2,
      maximum: 5,
    }),
    on: Type.Array(
      Type.Enum(['connect', 'reset', 503], {
        description:
          'connect: the gateway could not connect. reset: the connection failed before the response started. 503: the upstream responded with 503.',
      }),
      {
        description: 'The failures after which the gateway retries a request.',
        minItems: 1,
        uniqueItems: true,
      },
    ),
  },
  {
    ...open,
    description:
      'Retries GET, HEAD, OPTIONS, PUT and DELETE, at another address of the upstream if it has one. The gateway retries only before it sends body bytes and before it receives response bytes. It retries at most one request in five.',
  },
)

export const ClaimName = Type.String({
  description:
    'The name of a claim or, for a nested claim, its JSON pointer, for example /realm_access/roles.',
  pattern: '^(?:[^/].*|(?:/(?:[^~/]|~[01])*)+)$',
  maxLength: 256,
  'x-is': 'the name of a claim, or a JSON pointer such as /realm_access/roles',
})

export const RequestCount = Type.Integer({
  description: 'The number of requests per period.',
  minimum: 1,
  maximum: 1_000_000,
})

export const RateLimit = Type.Object(
  {
    requests: RequestCount,
    per: WindowText('The length of the period.'),
    by: Type.Enum(['client', 'subject', 'address', 'route', 'ip'], {
      description:
        'The callers that share a count: callers with the same client, subject or address, or all callers of the route. With client or subject, requests without a token count by address. ip is the earlier name of address.',
    }),
  },
  {
    ...open,
    description:
      'The maximum request rate of a caller. The gateway rejects requests above this rate with 429. Each route has its own count.',
  },
)
