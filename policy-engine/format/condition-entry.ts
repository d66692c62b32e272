import type { Static } from 'typebox'
import { Type } from '../../platform/diagnostics/schema/schema-builder.ts'
import { ClaimName, open } from './common-schemas.ts'

const Value = Type.Unsafe<string | number | boolean>({
  type: ['string', 'number', 'boolean'],
  maxLength: 1024,
  // The parser rounds numbers beyond this range. Two different identifiers could then become equal. Identifiers as text
  // are exact.
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'A text, a number, true, false or a request value: {path.name}, {header.name} or {query.name}. Only values of the same type are equal. A number beyond ±9007199254740991 is not exact and equals no value.',
})

export const ConditionEntry = Type.Object(
  {
    claim: ClaimName,
    equals: Type.Optional(Value),
    in: Type.Optional(
      Type.Array(Value, { description: 'The claim equals one of these values.', minItems: 1 }),
    ),
    matches: Type.Optional(
      Type.String({
        description: 'A text in which * matches any number of characters, for example *@example.com.',
        minLength: 1,
        maxLength: 256,
      }),
    ),
    exists: Type.Optional(
      Type.Boolean({
        description: 'Whether the token has the claim, with a value other than null.',
      }),
    ),
  },
  {
    ...open,
    oneOf: [
      { required: ['equals'] },
      { required: ['in'] },
      { required: ['matches'] },
      { required: ['exists'] },
    ],
    description:
      'A condition on a claim of the token. For a list, one member must fulfil the condition. A missing claim fulfils only exists: false.',
  },
)

export type ConditionEntry = Static<typeof ConditionEntry>
