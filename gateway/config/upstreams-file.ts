import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { FilePath, HttpAddress, TimeoutText } from '../../platform/diagnostics/schema/value-schemas.ts'

export const UpstreamEntry = Type.Object(
  {
    url: Type.Optional(
      HttpAddress(
        'URL of the upstream; the gateway puts the path of this URL before the path of every upstream request',
      ),
    ),
    urls: Type.Optional(
      Type.Array(HttpAddress('an address of the upstream'), {
        description: 'several addresses of one upstream, all with the same path; replaces url',
        minItems: 1,
        maxItems: 64,
        uniqueItems: true,
      }),
    ),
    caFile: Type.Optional(
      FilePath('PEM file with CA certificates, which replace the public CA certificates'),
    ),
    timeout: Type.Optional(TimeoutText('time to first byte of a response, retries included')),
    connectTimeout: Type.Optional(TimeoutText('time to connect, TLS handshake included')),
    idleTimeout: Type.Optional(TimeoutText('longest time that a response may stall on either side')),
    ejection: Type.Optional(
      Type.Object(
        {
          failures: Type.Optional(
            Type.Integer({
              description: 'consecutive failures after which an address gets no requests',
              minimum: 1,
              maximum: 1_000,
            }),
          ),
          for: Type.Optional(
            TimeoutText(
              'longest pause between two trials of an address that accepts connections but does not respond',
            ),
          ),
        },
        { description: 'ejection of addresses that fail' },
      ),
    ),
    openapi: Type.Optional(
      Type.String({
        description: "path of the upstream's OpenAPI document",
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

export type UpstreamEntry = Static<typeof UpstreamEntry>

export type UpstreamsFile = Readonly<Record<string, UpstreamEntry>>

export function addressesOf(upstream: UpstreamEntry): readonly string[] {
  return upstream.urls ?? (upstream.url === undefined ? [] : [upstream.url])
}
