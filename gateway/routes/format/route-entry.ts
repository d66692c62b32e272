import Type from 'typebox'
import { ByteSizeText, TimeoutText } from '../../../runtime/value-shapes.ts'
import {
  Anonymous,
  Enforce,
  IdleTimeout,
  Name,
  open,
  RateLimit,
  Retries,
  Scopes,
  UpstreamAuth,
} from './common-shapes.ts'
import { ConditionEntry } from './condition-entry.ts'
import { HeaderValues } from './header-shapes.ts'

/** One route of a policy file, as it is written. */
export const RouteEntry = Type.Object(
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
        headers: Type.Optional(
          HeaderValues(
            'Headers that a request has to bring as well, each once; of two routes on one path the one that asks for more wins.',
            'The exact value of the header.',
          ),
        ),
      },
      { ...open, description: 'Which requests the route is for.' },
    ),
    anonymous: Type.Optional(Anonymous),
    when: Type.Optional(
      Type.Array(ConditionEntry, {
        description: 'Conditions on the claims of the token; every one of them has to hold, else 403.',
        minItems: 1,
        maxItems: 32,
      }),
    ),
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
    enforce: Type.Optional(Enforce),
  },
  { ...open, description: 'One route.' },
)
