import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { Extends, Mount, Name, open, Scopes } from './common-schemas.ts'
import { ConditionEntry } from './condition-entry.ts'
import { DEFAULT_KEYS } from './default-keys.ts'
import { HeaderValues } from './header-schemas.ts'

// `scopegate fmt` writes the keys in this order.
const { anonymous, authentication, ...others } = DEFAULT_KEYS

export const RouteEntry = Type.Object(
  {
    name: Name('The name of the route, for example list-courses. The name must be unique in its file.'),
    extends: Type.Optional(Extends),
    mount: Type.Optional(Mount),
    match: Type.Object(
      {
        methods: Type.Array(
          Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], {
            description: 'An HTTP method.',
          }),
          {
            description: 'The methods of the route. GET includes HEAD.',
            minItems: 1,
            uniqueItems: true,
          },
        ),
        path: Type.String({
          description:
            'Literal segments, {parameter} segments, and an optional ** at the end. ** matches the path before it and all paths below that path.',
          minLength: 1,
        }),
        headers: Type.Optional(
          HeaderValues(
            'Required headers of the request, each exactly once. Of two routes with the same path, the route with more headers wins.',
            'The exact value of the header.',
          ),
        ),
      },
      { ...open, description: 'The requests that the route matches.' },
    ),
    anonymous,
    scopes: Type.Optional(
      Type.Object(
        {
          all: Type.Optional(Scopes),
          any: Type.Optional(Scopes),
          advertise: Type.Optional(
            Type.String({
              description: 'The scope of `any` that the challenge names. Default: the first scope of `any`.',
              minLength: 1,
              maxLength: 256,
            }),
          ),
        },
        {
          ...open,
          minProperties: 1,
          description:
            'The required scopes of a token: all scopes of `all`, and at least one scope of `any`. Without this key, the route requires no scope.',
        },
      ),
    ),
    authentication,
    when: Type.Optional(
      Type.Array(ConditionEntry, {
        description: 'Conditions on the claims of the token. If one of them fails, the gateway responds 403.',
        minItems: 1,
        maxItems: 32,
      }),
    ),
    rewrite: Type.Optional(
      Type.Object(
        {
          path: Type.String({
            description:
              'The path of the request to the upstream: literal segments, parameters of match.path, and ** if match.path ends in **.',
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
