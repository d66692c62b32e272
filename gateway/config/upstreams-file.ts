import Type from 'typebox'
import { FilePath, HttpAddress, TimeoutText } from '../../platform/diagnostics/schema/value-schemas.ts'

const UpstreamEntry = Type.Object(
  {
    url: Type.Optional(HttpAddress('address of the upstream; a path in front is kept')),
    urls: Type.Optional(
      Type.Array(HttpAddress('an address of the upstream'), {
        description: 'several addresses of one upstream, in place of url, all with the same path',
        minItems: 1,
        maxItems: 64,
        uniqueItems: true,
      }),
    ),
    caFile: Type.Optional(
      FilePath('file with the authorities that vouch for it, in place of the public ones, in PEM'),
    ),
    timeout: Type.Optional(TimeoutText('how long an answer may take to begin')),
    connectTimeout: Type.Optional(TimeoutText('how long a connection may take, TLS included')),
    idleTimeout: Type.Optional(
      TimeoutText('longest silence inside an answer, of the upstream or of a client that reads none of it'),
    ),
    ejection: Type.Optional(
      Type.Object(
        {
          failures: Type.Optional(
            Type.Integer({
              description: 'so many failures in a row, and an address gets no requests',
              minimum: 1,
              maximum: 1_000,
            }),
          ),
          for: Type.Optional(
            TimeoutText(
              'longest pause between two trials of an address that takes connections and answers nobody',
            ),
          ),
        },
        { description: 'when an address is left alone' },
      ),
    ),
    openapi: Type.Optional(
      Type.String({
        description: 'path of its own OpenAPI document',
        pattern: '^/[\\x21\\x22\\x24-\\x7e]*$',
        'x-is': 'a path such as /openapi.json',
      }),
    ),
  },
  { description: 'an upstream' },
)

export const UpstreamsFile = Type.Record(
  Type.String({ pattern: '^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$' }),
  UpstreamEntry,
  { description: 'config/upstreams.yaml', additionalProperties: false, minProperties: 1 },
)

export type UpstreamEntry = Type.Static<typeof UpstreamEntry>

export type UpstreamsFile = Readonly<Record<string, UpstreamEntry>>

export function addressesOf(upstream: UpstreamEntry): readonly string[] {
  return upstream.urls ?? (upstream.url === undefined ? [] : [upstream.url])
}
