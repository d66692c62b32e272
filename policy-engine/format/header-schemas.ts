import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { open } from './common-schemas.ts'

/**
 * Allows only letters, digits and `-`. Some servers replace other characters with `-`, so two names could become equal.
 */
const HEADER_NAME = '^[A-Za-z0-9-]{1,64}$'

const isHeaderName = { 'x-keys': 'the name of a header: letters, digits and -' } as const

/** Returns the schema of a map of header names to values. A value is visible ASCII and may contain inner spaces. */
export const HeaderValues = (description: string, valueDescription: string) =>
  Type.Record(
    Type.String({ pattern: HEADER_NAME }),
    Type.String({
      description: valueDescription,
      pattern: '^[\\x21-\\x7e](?:[\\x20-\\x7e]*[\\x21-\\x7e])?$',
      maxLength: 1024,
      'x-is': 'the value of a header: printable ASCII, without a space at the start or the end',
    }),
    { ...isHeaderName, additionalProperties: false, minProperties: 1, maxProperties: 16, description },
  )

export const HeaderName = Type.String({
  description: 'The name of a header.',
  pattern: HEADER_NAME,
  'x-is': 'the name of a header: letters, digits and -',
})

const HeaderChangesEntry = (description: string) =>
  Type.Object(
    {
      set: Type.Optional(
        HeaderValues('Headers to set. The new value replaces existing values.', 'The value of the header.'),
      ),
      add: Type.Optional(HeaderValues('Headers to add. Existing values stay.', 'The value of the header.')),
      remove: Type.Optional(
        Type.Array(HeaderName, {
          description: 'Headers that the gateway removes.',
          minItems: 1,
          maxItems: 16,
        }),
      ),
    },
    { ...open, minProperties: 1, description },
  )

/** Schema of the `headers` of a route, of defaults or of a preset. */
export const HeaderRulesEntry = Type.Object(
  {
    request: Type.Optional(HeaderChangesEntry('Changes to requests before the gateway forwards them.')),
    response: Type.Optional(HeaderChangesEntry('Changes to responses of the upstream.')),
  },
  {
    ...open,
    minProperties: 1,
    description:
      'Changes to headers. A policy cannot change headers for credentials, headers for the connection, or headers that the gateway sets.',
  },
)

export type HeaderRulesEntry = Static<typeof HeaderRulesEntry>
