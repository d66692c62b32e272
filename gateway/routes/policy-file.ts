import Type from 'typebox'
import { compileShape, type Violation } from '../../runtime/check-shape.ts'
import { ByteSizeText, TimeoutText, WindowText } from '../../runtime/value-shapes.ts'

/** Keys that start with `x-` are kept and ignored, everywhere. */
const open = { additionalProperties: false, patternProperties: { '^x-': {} } } as const

const Anonymous = Type.Enum(['allow', 'challenge', 'deny'], {
  description:
    'A request without a token: allow serves it without identity and without asking for the scopes; challenge answers 401 with the way to a token; deny answers 401 without it.',
})

const UpstreamAuth = Type.Enum(['none', 'assertion', 'forward'], {
  description:
    'What the upstream gets besides the x-auth headers: none (the default) nothing; assertion a short-lived JWT in x-auth-assertion, signed by the gateway; forward the Authorization header as it came.',
})

const Scopes = Type.Array(
  Type.String({ description: 'A scope of config/scopes.yaml.', minLength: 1, maxLength: 256 }),
  {
    description: 'Scopes of config/scopes.yaml.',
    minItems: 1,
    uniqueItems: true,
  },
)

const Name = (description: string) =>
  Type.String({
    description,
    pattern: '^[a-z][a-z0-9-]{0,62}$',
    'x-is': 'a name: small letters, digits and -, starting with a letter',
  })

const IdleTimeout = TimeoutText(
  'The longest silence inside an answer, of the upstream or of a client that reads none of it.',
)

const Retries = Type.Object(
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
      { description: 'What a request is sent again for.', minItems: 1, uniqueItems: true },
    ),
  },
  {
    ...open,
    description:
      'Sends GET, HEAD, OPTIONS, PUT and DELETE again, to another address of the upstream where there is one, as long as nothing of a body was sent and nothing of an answer came. At most one request in five is sent again.',
  },
)

const RateLimit = Type.Object(
  {
    requests: Type.Integer({ description: 'So many requests …', minimum: 1, maximum: 1_000_000 }),
    per: WindowText('… in so long a time, all at once or spread over it.'),
    by: Type.Enum(['client', 'subject', 'ip', 'route'], {
      description:
        'Who is counted: each client, each subject, each address, or everybody together. Without a token it is the address.',
    }),
  },
  { ...open, description: 'How often a caller may ask; more is 429. Each route is counted for itself.' },
)

const RouteEntry = Type.Object(
  {
    name: Name('What the route is called, e.g. list-courses; once in a file.'),
    match: Type.Object(
      {
        methods: Type.Array(
          Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], {
            description: 'An HTTP method.',
          }),
          {
            description: 'The methods of the route; HEAD follows GET by itself.',
            minItems: 1,
            uniqueItems: true,
          },
        ),
        path: Type.String({
          description:
            'Literal segments, {parameter} segments, and at most one ** at the end: this path and everything below it.',
          minLength: 1,
        }),
      },
      { ...open, description: 'Which requests the route is for.' },
    ),
    anonymous: Type.Optional(Anonymous),
    scopes: Type.Optional(
      Type.Object(
        {
          all: Type.Optional(Scopes),
          any: Type.Optional(Scopes),
          advertise: Type.Optional(
            Type.String({
              description: 'The one of any that callers are told to ask for; the first one without this key.',
              minLength: 1,
              maxLength: 256,
            }),
          ),
        },
        {
          ...open,
          minProperties: 1,
          description:
            'What a token needs: every scope of all, and one of any. Without this key a token is optional.',
        },
      ),
    ),
    timeout: Type.Optional(
      TimeoutText('How long the upstream may take to begin its answer, retries included.'),
    ),
    idleTimeout: Type.Optional(IdleTimeout),
    retries: Type.Optional(Retries),
    rateLimit: Type.Optional(RateLimit),
    rewrite: Type.Optional(
      Type.Object(
        {
          path: Type.String({
            description:
              "The path that the upstream is asked for: literal segments, parameters of the route's path, and ** when that has one.",
            minLength: 1,
          }),
        },
        { ...open, description: 'What is forwarded instead of the path that was matched.' },
      ),
    ),
    bodyLimit: Type.Optional(ByteSizeText('The largest request body.')),
    websocket: Type.Optional(
      Type.Boolean({
        description:
          'Whether a GET may become a WebSocket. Its bodyLimit is that of a message, its timeout that of the handshake.',
      }),
    ),
    upstreamAuth: Type.Optional(UpstreamAuth),
  },
  { ...open, description: 'One route.' },
)

/** The format of `policies/<team>.policy.yaml`; one source for the loader, the types and the JSON Schema. */
const PolicyFileSchema = Type.Object(
  {
    apiVersion: Type.Enum(['scopegate/v1'], { description: 'The version of this format.' }),
    kind: Type.Enum(['Policy'], { description: 'What the file is.' }),
    name: Name('What the policy is called; once in all files.'),
    owner: Type.Optional(
      Type.String({ description: 'Who gets asked about it.', minLength: 1, maxLength: 128 }),
    ),
    upstream: Type.String({
      description: 'The entry of config/upstreams.yaml that serves the routes.',
      minLength: 1,
    }),
    defaults: Type.Optional(
      Type.Object(
        {
          anonymous: Type.Optional(Anonymous),
          timeout: Type.Optional(TimeoutText('As in a route.')),
          upstreamAuth: Type.Optional(UpstreamAuth),
          idleTimeout: Type.Optional(IdleTimeout),
          retries: Type.Optional(Retries),
          rateLimit: Type.Optional(RateLimit),
        },
        { ...open, description: 'What every route says unless it says otherwise.' },
      ),
    ),
    routes: Type.Array(RouteEntry, { description: 'The routes; their order means nothing.', minItems: 1 }),
  },
  {
    ...open,
    $id: 'https://scopegate.dev/schemas/policy.v1.json',
    description: 'A policy file of Scopegate.',
  },
)

/** A policy file whose shape has been checked. */
export type PolicyFile = Type.Static<typeof PolicyFileSchema>

/** Checks plain data against the format; codes P101 to P109. */
export const checkPolicyFile = compileShape(PolicyFileSchema, { letter: 'P', explain })

/** Two slips that the format invites and the schema alone would explain badly. */
function explain({
  error,
  path,
  value,
}: Violation): { number: string; message: string; hint?: string } | undefined {
  if (error.keyword !== 'type') return undefined
  const key = path.at(-1)
  if (key === 'scopes' && (typeof value === 'string' || isTexts(value))) {
    const list = `[${typeof value === 'string' ? value : value.join(', ')}]`
    return {
      number: '107',
      message: 'a bare list of scopes could mean every one of them or any one of them',
      hint: `write { all: ${list} } or { any: ${list} }`,
    }
  }
  if (key === 'path' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return {
      number: '109',
      message: 'without quotes, { starts a map and not a path',
      hint: `write "/{${Object.keys(value).join(', ')}}"`,
    }
  }
  return undefined
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
