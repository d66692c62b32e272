import Type from 'typebox'

/** Letters, digits and `-` alone: other signs are folded to `-` by some servers. */
const HEADER_NAME = '^[A-Za-z0-9-]{1,64}$'

const isHeaderName = { 'x-keys': 'the name of a header: letters, digits and -' } as const

/** A map of header names to values; a value is visible ASCII, spaces inside. */
export const HeaderValues = (description: string, valueDescription: string) =>
  Type.Record(
    Type.String({ pattern: HEADER_NAME }),
    Type.String({
      description: valueDescription,
      pattern: '^[\\x21-\\x7e](?:[\\x20-\\x7e]*[\\x21-\\x7e])?$',
      maxLength: 1024,
      'x-is': 'the value of a header: visible ASCII, without spaces around it',
    }),
    { ...isHeaderName, additionalProperties: false, minProperties: 1, maxProperties: 16, description },
  )
