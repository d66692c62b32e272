import { deepEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { compilePolicies } from '../../../../policy-engine/decide/compile-policies.ts'
import type { Condition, PolicyRoute } from '../../../../policy-engine/load/policy-route.ts'
import { aPolicyRoute } from '../../../fixtures/a-policy-route.ts'
import { testResources } from '../../../fixtures/test-resources.ts'
import { type Alphabet, toldAndTried } from './brute-force.ts'

const SCOPES = ['r', 'w']
/** Number of random pairs. By default, every run compares the same pairs. */
const FUZZ_RUNS = process.env['FUZZ_DIFF_RUNS']
const RUNS = FUZZ_RUNS === undefined ? { numRuns: 100, seed: 1 } : { numRuns: Number(FUZZ_RUNS) }
const VALUES = ['1', '19', '2', '8', '9', 'a', 'b', 1]
const ALPHABET: Alphabet = {
  segments: ['a', 'b', '1', '8'],
  depth: 3,
  methods: ['GET', 'HEAD', 'POST'],
  scopes: SCOPES,
  headers: { h: [undefined, '1', '2', '9'] },
  claims: {
    // Values of a claim. `8` can also occur in a path, and `9` in a header. `0` occurs only in claims.
    c: [
      undefined,
      '0',
      [],
      ...VALUES,
      ...VALUES.flatMap((a, index) => VALUES.slice(index + 1).map((b) => [a, b])),
    ],
    d: [undefined, '9'],
  },
}
const SOURCE = { file: 'x', line: 1, column: 1 }

const operand = fc.constantFrom(
  '1',
  '2',
  1,
  { from: 'header' as const, name: 'h' },
  { from: 'path' as const, name: 'x' },
)
const condition = fc.oneof(
  fc.record({ claim: fc.constant('c'), test: fc.record({ equals: operand }), source: fc.constant(SOURCE) }),
  fc.record({
    claim: fc.constant('c'),
    test: fc.record({ in: fc.array(operand, { minLength: 1, maxLength: 2 }) }),
    source: fc.constant(SOURCE),
  }),
  fc.record({
    claim: fc.constantFrom('c', 'd'),
    test: fc.record({ exists: fc.boolean() }),
    source: fc.constant(SOURCE),
  }),
  fc.record({
    claim: fc.constant('c'),
    test: fc.record({ matches: fc.constantFrom('1*', '*', '1') }),
    source: fc.constant(SOURCE),
  }),
)
const route = fc
  .record({
    segments: fc.uniqueArray(fc.constantFrom('a', 'b', '{x}', '1'), { maxLength: 2 }),
    below: fc.boolean(),
    slash: fc.integer({ max: 9, min: 0 }),
    methods: fc.uniqueArray(fc.constantFrom('GET', 'POST', 'HEAD'), { minLength: 1, maxLength: 2 }),
    header: fc.option(fc.constantFrom('1', '2')),
    all: fc.uniqueArray(fc.constantFrom(...SCOPES), { maxLength: 2 }),
    any: fc.uniqueArray(fc.constantFrom(...SCOPES), { maxLength: 2 }),
    when: fc.array(condition as fc.Arbitrary<Condition>, { maxLength: 2 }),
    isPlain: fc.integer({ min: 0, max: 2 }),
    anonymous: fc.constantFrom('allow' as const, 'challenge' as const, 'deny' as const),
    enforce: fc.constantFrom('on' as const, 'on' as const, 'on' as const, 'report' as const),
  })
  .map(({ segments, below, slash, header, all, any, isPlain, ...rest }): PolicyRoute => {
    const base = `/${segments.join('/')}`
    const path = below ? `${base === '/' ? '' : base}/**` : slash === 0 && base !== '/' ? `${base}/` : base
    const hasParameter = path.includes('{x}')
    // Only one route in three has conditions. For the other routes, the scopes decide. A condition with `{path.x}` is
    // valid only in a route with this parameter.
    const when = (isPlain === 0 ? rest.when : []).filter(
      ({ test }) => hasParameter || !JSON.stringify(test).includes('"path"'),
    )
    return aPolicyRoute({
      ...rest,
      path,
      when,
      matchHeaders: header === null ? [] : [{ name: 'h', value: header }],
      scopes: all.length + any.length === 0 ? undefined : { all, any },
      anonymous: when.length > 0 && rest.anonymous === 'allow' ? 'challenge' : rest.anonymous,
    })
  })
const side = fc
  .tuple(fc.array(route, { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([routes, implies]) => {
    const implication = new Map(implies ? [['r', ['r', 'w']]] : [])
    const policies = { routes: routes.map((one, index) => ({ ...one, name: `p/${index}` })), hash: '' }
    try {
      return compilePolicies(policies, { implication, resources: testResources([]) })
    } catch {
      return undefined
    }
  })
  .filter((compiled) => compiled !== undefined)

t.test('diff reports exactly the widened and narrowed access that brute force finds', async () => {
  fc.assert(
    fc.property(side, side, (old, now) => {
      const { told, tried } = toldAndTried(old, now, ALPHABET)
      const brief = (one: typeof old) =>
        one.routes
          .map(
            ({ policy }) =>
              `${policy.methods} ${policy.path} ${JSON.stringify([policy.matchHeaders, policy.scopes, policy.when.map(({ claim, test }) => [claim, test]), policy.anonymous, policy.enforce])}`,
          )
          .join('\n')
      deepEqual(told, tried, `${brief(old)}\n--\n${brief(now)}\n${JSON.stringify([[...told], [...tried]])}`)
    }),
    RUNS,
  )
})
