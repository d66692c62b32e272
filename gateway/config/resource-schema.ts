import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { HttpAddress, ResourcePath } from '../../platform/diagnostics/schema/value-schemas.ts'

export const ResourceSchema = Type.Object(
  {
    path: ResourcePath('path prefix; / is the whole API'),
    name: Type.Optional(
      Type.String({
        description: 'name of the resource; default: the name of the API',
        minLength: 1,
        maxLength: 100,
      }),
    ),
    issuers: Type.Optional(
      Type.Array(HttpAddress('an issuer of this file'), {
        description: 'issuers whose tokens the resource accepts, in lookup order; default: all',
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
      }),
    ),
    scopes: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        description:
          'scopes_supported in the metadata of the resource; default: the read scopes that its routes need',
        maxItems: 1_000,
        uniqueItems: true,
      }),
    ),
    documentation: Type.Optional(HttpAddress('documentation of the resource; default: /auth.md')),
    policy: Type.Optional(HttpAddress('page with the rules for the use of the data')),
    terms: Type.Optional(HttpAddress('terms of service of the resource')),
  },
  { description: 'a part of the API with its own tokens' },
)
