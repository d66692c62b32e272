import t from 'tap'
import { neededScopes } from '../../../policy-engine/decide/scope-check.ts'

const IMPLICATION = new Map([['courses:read', ['courses:read', 'courses:write']]])

t.test('neededScopes() lists all scopes of `all`, and the advertised or first scope of `any`', async (t) => {
  t.same(neededScopes(undefined), [])
  t.same(neededScopes({ all: ['a', 'b'], any: [] }), ['a', 'b'])
  t.same(neededScopes({ all: ['a'], any: ['b', 'c'] }), ['a', 'b'])
  t.same(neededScopes({ all: ['a'], any: ['b', 'c'], advertise: 'c' }), ['a', 'c'])
  t.same(neededScopes({ all: ['a', 'c'], any: ['b', 'c'] }), ['a', 'c'], '`any` already includes c')
})

t.test(
  'neededScopes() omits scopes that another required scope implies, and adds no implying scope',
  async (t) => {
    const needed = (all: string[], any: string[] = []) => neededScopes({ all, any }, IMPLICATION)
    t.same(needed(['courses:read']), ['courses:read'])
    t.same(needed(['courses:read', 'courses:write']), ['courses:write'])
    t.same(needed(['courses:write'], ['posts:read', 'courses:read']), ['courses:write'])
    t.same(needed(['posts:read'], ['courses:read', 'courses:write']), ['posts:read', 'courses:read'])
  },
)
