import t from 'tap'
import TypeBox from 'typebox'
import { Type } from '../../runtime/type.ts'

/** Every word, with and without options, beside and inside others. */
function write(words: typeof Type): unknown {
  const name = words.String({ pattern: '^[a-z]+$', description: 'a name' })
  const count = words.Integer({ minimum: 1 })
  const maybe = words.Optional(words.Boolean())
  return [
    words.Object({ name, count, maybe, twice: words.Optional(words.Optional(name)) }, { description: 'x' }),
    words.Object({ maybe }, { additionalProperties: true }),
    words.Object({}),
    words.Optional(words.Object({ inner: words.Object({ maybe, name }) })),
    words.Array(words.Enum(['a', 'b'], { description: 'y' }), { minItems: 1 }),
    words.Array(words.Enum(['a'])),
    words.Record(name, words.Object({ maybe }), { additionalProperties: false }),
    words.Union([words.Literal('auto'), words.Literal(1), words.Literal(true), count], { description: 'z' }),
    words.Unsafe<string | number>({ type: ['string', 'number'], maxLength: 3 }),
    words.String(),
    words.Integer(),
  ]
}

t.test('each word of ours makes the schema that TypeBox makes, in the same order', async (t) => {
  t.equal(JSON.stringify(write(Type)), JSON.stringify(write(TypeBox)))
})
