import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t from 'tap'
import { GatewayFile } from '../../gateway/config/gateway-file.ts'
import { UpstreamsFile } from '../../gateway/config/upstreams-file.ts'
import { PolicyFileSchema } from '../../gateway/routes/policy-file.ts'
import { PolicyTestFileSchema } from '../../gateway/routes/policy-test-file.ts'
import { fitsSchema } from '../../runtime/fits-schema.ts'
import { arbitraryOfSchema } from '../fixtures/arbitrary-of-schema.ts'

const RUNS = 30

function map(entries: Readonly<Record<string, unknown>>): unknown {
  return Object.assign(Object.create(null), entries)
}

/** One of each kind and on each side of the bounds below. */
const VALUES = [
  ...[undefined, null, true, false, 0, -0, 1, 1.5, 3, 4, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300],
  ...['', 'a', 'b', 'ab', 'abc', 'abcd', '😀😀😀', '😀😀😀😀', '10.0.0.0/8', '10.0.0.0/33', '1', 'true'],
  ...[[], ['a'], ['a', 'a'], ['a', 'b', 'a'], [1, '1'], [{ a: 1 }, { a: 1 }], ['a', 1], [null]],
  ...[map({}), map({ a: 'x' }), map({ a: 1 }), map({ b: 1 }), map({ a: 'x', b: 1 }), map({ a: 'x', c: 1 })],
  ...[map({ abc: 1 }), map({ abc: 'x' }), map({ constructor: 1 }), JSON.parse('{"__proto__": "x"}')],
]

const SCHEMAS: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { description: 'x', title: 'y', 'x-is': 'z' },
  ...['object', 'array', 'string', 'boolean', 'number', 'integer'].map((type) => ({ type })),
  { type: ['string', 'number', 'boolean'] },
  ...[{ enum: ['a', 1, true] }, { const: 'a' }, { const: 0 }, { const: false }],
  ...[{ pattern: '^a' }, { pattern: '^.{3}$' }, { format: 'cidr' }],
  ...[{ minLength: 3 }, { maxLength: 3 }, { minimum: 1 }, { maximum: 3 }],
  ...[{ minItems: 1 }, { maxItems: 2 }, { uniqueItems: true }, { uniqueItems: false }],
  ...[{ items: { type: 'string' } }, { minProperties: 1 }, { maxProperties: 1 }],
  ...[{ required: ['a'] }, { required: ['constructor'] }, { required: [] }],
  { properties: { a: { type: 'string' }, constructor: { type: 'string' } } },
  { properties: { a: { type: 'string' } }, additionalProperties: false },
  { patternProperties: { '^a': { type: 'string' } } },
  { patternProperties: { '^a': { type: 'string' }, b: { type: 'integer' } }, additionalProperties: false },
  { properties: { c: {} }, patternProperties: { '^a': {} }, additionalProperties: false },
  ...[{ additionalProperties: false }, { additionalProperties: true }],
  { anyOf: [{ const: 'a' }, { type: 'integer', minimum: 1 }] },
  { oneOf: [{ required: ['a'] }, { required: ['b'] }] },
  { oneOf: [{ type: 'string' }, { minLength: 3 }] },
]

function validatorOf(schema: Readonly<Record<string, unknown>>): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, allowUnionTypes: true, ownProperties: true, strictNumbers: true })
  ajv.addFormat('cidr', (text: string) => text === '10.0.0.0/8')
  return ajv.compile(schema)
}

t.test('fitsSchema() says what a validator says, keyword by keyword', async (t) => {
  for (const schema of SCHEMAS) {
    const fits = fitsSchema(schema)
    const isValid = validatorOf(schema)
    for (const value of VALUES)
      if (fits?.(value) !== isValid(value))
        t.fail(`${JSON.stringify(schema)}: ${JSON.stringify(value)} is ${isValid(value)}`)
    t.type(fits, 'function', JSON.stringify(schema))
  }
})

t.test('fitsSchema() leaves to a validator what it does not know for sure', async (t) => {
  for (const unknown of [
    { not: {} },
    { $ref: '#' },
    { multipleOf: 2 },
    { propertyNames: { maxLength: 2 } },
    { type: 'null' },
    { const: null },
    { enum: [['a']] },
    { format: 'date' },
    { additionalProperties: { type: 'string' } },
    { required: 'a' },
    true,
  ])
    for (const schema of [
      unknown,
      { items: unknown },
      { properties: { a: unknown } },
      { patternProperties: { a: unknown } },
      { anyOf: [{}, unknown] },
      { oneOf: [{}, unknown] },
    ])
      t.equal(fitsSchema(schema), undefined, JSON.stringify(schema))
})

t.test(
  `fitsSchema() says what a validator says of ${RUNS} made-up values for each key of the configuration, and of policies`,
  async (t) => {
    const seen = { good: 0, bad: 0 }
    const keys: Readonly<Record<string, unknown>> = {
      ...GatewayFile.properties,
      upstreams: UpstreamsFile,
      policy: PolicyFileSchema,
      tests: PolicyTestFileSchema,
    }
    for (const [key, schema] of Object.entries(keys)) {
      const plain = JSON.parse(JSON.stringify(schema))
      const fits = fitsSchema(plain)
      const isValid = validatorOf(plain)
      fc.assert(
        fc.property(arbitraryOfSchema(plain), (value) => {
          const good = isValid(value)
          seen[good ? 'good' : 'bad'] += 1
          if (fits?.(value) !== good) throw new Error(`${key}: the validator says ${good}`)
        }),
        { numRuns: RUNS },
      )
    }
    t.ok(seen.good > RUNS, `${seen.good} good ones`)
    t.ok(seen.bad > RUNS, `${seen.bad} bad ones`)
  },
)
