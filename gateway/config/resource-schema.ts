import Type from 'typebox'
import { HttpAddress, ResourcePath } from '../../platform/diagnostics/schema/value-schemas.ts'

export const ResourceSchema = Type.Object(
  {
    path: ResourcePath('where it begins; / is the whole API'),
    name: Type.Optional(
      Type.String({ description: 'what it calls itself; the name of the API', minLength: 1, maxLength: 100 }),
    ),
    issuers: Type.Optional(
      Type.Array(HttpAddress('an issuer of this file'), {
        description: 'whose tokens are good for it, in the order in which they are asked; all of them',
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
      }),
    ),
    scopes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        description: 'scopes that its metadata lists: scopes_supported; the read scopes that its routes need',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    documentation: Type.Optional(HttpAddress('where people read about it; /auth.md')),
    policy: Type.Optional(HttpAddress('where people read how its data may be used')),
    terms: Type.Optional(HttpAddress('where people read its terms of service')),
  },
  { description: 'a part of the API that tokens are for on their own' },
)
