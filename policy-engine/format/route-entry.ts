import Type from 'typebox'
import { Extends, Mount, Name, open, Scopes } from './common-schemas.ts'
import { ConditionEntry } from './condition-entry.ts'
import { DEFAULT_KEYS } from './default-keys.ts'
import { HeaderValues } from './header-schemas.ts'

// `scopegate fmt` writes the keys in this order.
const { anonymous, ...others } = DEFAULT_KEYS

export const RouteEntry = Type.Object(
  {
    name: Name('The name of the route, e.g. list-courses, unique in its file.'),
    extends: Type.Optional(Extends),
    mount: Type.Optional(Mount),
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
    anonymous,
    scopes: Type.Optional(
      Type.Object(
        {
          all: Type.Optional(Scopes),
          any: Type.Optional(Scopes),
          advertise: Type.Optional(
            Type.String({
              description: 'The scope of any that the challenge names. Default: the first one.',
              minLength: 1,
              maxLength: 256,
            }),
          ),
        },
        {
          ...open,
          minProperties: 1,
          description:
            'The required scopes of a token: every scope of all, and one of any. Without this key a token is optional.',
        },
      ),
    ),
    when: Type.Optional(
      Type.Array(ConditionEntry, {
        description: 'Conditions on the claims of the token; every one of them has to hold, else 403.',
        minItems: 1,
        maxItems: 32,
      }),
    ),
    rewrite: Type.Optional(
      Type.Object(
        {
          path: Type.String({
            description:
              "The path that the upstream is asked for: literal segments, parameters of the route's path, and ** when that has one.",
            minLength: 1,
          }),
        },
        { ...open, description: 'The path for the upstream, in place of the matched path.' },
      ),
    ),
    ...others,
  },
  { ...open, description: 'One route.' },
)
