import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { FilePath, HttpAddress } from '../../platform/diagnostics/schema/value-schemas.ts'

const NAME = '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$'

export const PolicySourceSchema = Type.Object(
  {
    name: Type.String({
      description: 'name of the source; the first part of the names of its policies and routes',
      pattern: NAME,
      'x-is': 'a name of lower-case letters, digits and -, of at most 64 characters',
    }),
    folder: FilePath('folder of the policy files, read with the direct subfolders'),
    root: Type.Optional(
      FilePath(
        'folder that must contain folder after all symbolic links are resolved; default: folder can be a link to any folder',
      ),
    ),
    lastFetchFile: Type.Optional(
      FilePath(
        'file whose modification time is the time of the last successful fetch of the policies; default: no metric of fetches',
      ),
    ),
    owner: Type.Optional(
      Type.String({
        description: 'the owner of the policies, for example a team',
        minLength: 1,
        maxLength: 128,
      }),
    ),
    permissions: Type.Object(
      {
        pathPrefixes: Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
          description:
            'path prefixes of the source: /api/billing includes /api/billing itself and all paths below it',
          minItems: 1,
          maxItems: 100,
          uniqueItems: true,
        }),
        upstreams: Type.Optional(
          Type.Array(Type.String({ pattern: NAME, 'x-is': 'the name of an upstream' }), {
            description: 'upstreams that the policies may use; default: none',
            maxItems: 1_000,
            uniqueItems: true,
          }),
        ),
        addresses: Type.Optional(
          Type.Array(HttpAddress('an allowed address; the paths below its path are allowed too'), {
            description: 'addresses that upstreams in upstreams.yaml of the folder may have; default: none',
            maxItems: 1_000,
            uniqueItems: true,
          }),
        ),
        scopes: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
            description: 'scopes that the policies may use; a * at the end matches any text; default: none',
            maxItems: 1_000,
            uniqueItems: true,
          }),
        ),
        anonymous: Type.Optional(
          Type.Boolean({
            description: 'whether the policies may serve requests without a token; default: false',
          }),
        ),
        forwardCredentials: Type.Optional(
          Type.Boolean({
            description:
              'whether the policies may send the credentials of callers to upstreams (upstreamAuth: forward); default: false',
          }),
        ),
      },
      { description: 'permissions of the policies' },
    ),
  },
  { description: 'a folder of policies that one team owns' },
)

export type PolicySourceEntry = Static<typeof PolicySourceSchema>
