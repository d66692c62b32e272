import { deepEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { compareScopes } from '../../../../cli/commands/diff/compare-access.ts'
import { buildTemplateTree, intersectTemplates } from '../../../../cli/commands/diff/overlapping-templates.ts'
import { representativeRequests } from '../../../../cli/commands/diff/representative-requests.ts'
import { missingScopes } from '../../../../policy-engine/decide/check-access.ts'
import { compileScopeCheck } from '../../../../policy-engine/decide/scope-check.ts'
import { parsePathTemplate } from '../../../../policy-engine/match/path-template.ts'
import { cpuMs } from '../../../fixtures/cpu-ms.ts'

const template = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', '{x}', '{y}'), { maxLength: 3 }), fc.constantFrom('', '/', '/**'))
  .map(([segments, end]) =>
    parsePathTemplate(`/${[...new Set(segments)].join('/')}${end}`.replace('//', '/')),
  )
  .filter((parsed) => !('problem' in parsed))

t.test('buildTemplateTree() finds exactly the templates that intersect a template', async () => {
  fc.assert(
    fc.property(fc.array(template, { maxLength: 8 }), template, (all, one) => {
      if ('problem' in one) return
      const entries = all.flatMap((each) => ('problem' in each ? [] : [{ template: each }]))
      const found = new Set(buildTemplateTree(entries).overlapping(one))
      deepEqual(
        found,
        new Set(entries.filter((each) => intersectTemplates(one, each.template) !== undefined)),
      )
    }),
  )
})

t.test('compareScopes() agrees with a check of every set of scopes, for any implied scopes', async () => {
  const scopes = ['a', 'b', 'c', 'd']
  const list = fc.uniqueArray(fc.constantFrom(...scopes), { maxLength: 3 })
  const grants = fc
    .tuple(fc.constantFrom(...scopes), list)
    .map(([scope, by]) => [scope, [scope, ...by]] as const)
  const check = fc
    .record({ all: list, any: list, grants: fc.array(grants, { maxLength: 2 }) })
    .map((one) => compileScopeCheck({ all: one.all, any: one.any }, new Map(one.grants)))
  fc.assert(
    fc.property(check, check, (old, now) => {
      const shift = { gains: false, loses: false }
      for (let bits = 0; bits < 16; bits++) {
        const held = new Set(scopes.filter((_, index) => (bits >> index) & 1))
        const [before, after] = [old, now].map(
          (one) => one === undefined || missingScopes(held, one).length === 0,
        )
        if (after === true && before === false) shift.gains = true
        if (before === true && after === false) shift.loses = true
      }
      deepEqual(compareScopes(old, now), shift)
    }),
    { numRuns: 2_000 },
  )
})

t.test('thousands of routes on both sides take linear time', async (t) => {
  const routes = Array.from({ length: 4_000 }, (_, index) => ({
    methods: ['GET'],
    path: `/api/f${index % 50}/r${index}/{id}`,
    matchHeaders: [],
  }))
  const start = cpuMs()
  t.equal(representativeRequests(routes, routes).length, 4_000)
  t.ok(cpuMs() - start < 10_000)
})
