import t from 'tap'
import { consentPage } from '../../../authorization-server/consent/consent-page.ts'
import {
  defaultTicks,
  grantedScopes,
  groupScopes,
  postedTicks,
  scopeField,
  toggleState,
  toggleTicks,
} from '../../../authorization-server/consent/scope-selection.ts'
import type { ScopeDescription } from '../../../oauth/scope.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'
import { aCatalogue as aPageCatalogue } from '../../fixtures/start-pages.ts'

const CATALOGUE = new Map(aCatalogue(['openid', 'courses:read', 'courses:write', 'courses:own']))
const write = CATALOGUE.get('courses:write')
const own = CATALOGUE.get('courses:own')
if (write === undefined || own === undefined) throw new Error('the catalogue lacks a scope')
CATALOGUE.set('courses:write', { ...write, implies: ['courses:read'] })
CATALOGUE.set('courses:own', { ...own, implies: ['courses:write'] })

t.test(
  'groupScopes() returns all directly and indirectly implied scopes, also scopes that were not requested',
  async (t) => {
    const [group] = groupScopes(['openid', 'courses:read', 'courses:own'], CATALOGUE)
    t.match(group?.scopes, [
      { name: 'courses:read', impliedDescriptions: [] },
      { name: 'courses:own', impliedDescriptions: ['Use courses:read', 'Use courses:write'] },
    ])
  },
)

t.test('the consent page names the scopes that a checkbox includes', async (t) => {
  const { body } = consentPage({
    clientName: 'App',
    verified: false,
    serviceName: 'Platform',
    locale: 'en',
    lifetimes: { refreshTokenMaxSeconds: 1, refreshTokenSeconds: 1 },
    account: { name: 'Alice', login: 'alice' },
    target: { shown: '127.0.0.1', onThisDevice: true, policySource: '' },
    groups: groupScopes(['courses:write', 'courses:read'], CATALOGUE),
    ticked: new Set(),
    toggled: undefined,
    nothingChosen: false,
    formToken: 'token',
    path: '/oauth/interaction/uid',
  })
  t.match(String(body), 'This includes: Use courses:read.')
  t.equal(
    String(body).split('This includes').length,
    2,
    'the sentence appears only for scopes that include others',
  )
})

const ASKED = ['courses:write', 'openid', 'profile']

t.test('grantedScopes() grants requested scopes only, in the order of the request', async (t) => {
  const granted = (asked: readonly string[], ...ticked: readonly string[]) => {
    const groups = groupScopes(asked, aPageCatalogue())
    return grantedScopes(asked, groups, postedTicks(groups, form(ticked)))
  }
  t.strictSame(granted(ASKED, 'courses:read', 'profile'), ['openid', 'profile'])
  t.strictSame(granted(ASKED, 'profile', 'courses:write'), ASKED)
  t.equal(granted(ASKED), undefined)
  t.equal(granted(ASKED, 'openid'), undefined)
  t.strictSame(granted(['openid']), ['openid'])
  t.strictSame(granted([], 'profile'), [])
})

t.test('groupScopes() follows the catalogue, without openid', async (t) => {
  const groups = groupScopes(ASKED, aPageCatalogue())
  t.strictSame(
    groups.map(({ name, scopes }) => [name, ...scopes.map((scope) => scope.name)]),
    [
      ['Identity', 'profile'],
      ['Courses', 'courses:write'],
    ],
  )
})

t.test(
  'defaultTicks() selects up to three scopes with write access, and no scope when there are four',
  async (t) => {
    for (const [writes, ticked] of [
      [0, 2],
      [3, 5],
      [4, 2],
    ] as const) {
      const groups = groupScopes(
        manyScopes(writes).map(({ name }) => name),
        catalogueOf(manyScopes(writes)),
      )
      t.equal(defaultTicks(groups).size, ticked, `${writes} writes`)
      t.ok(defaultTicks(groups).has('read:0'))
    }
  },
)

t.test('toggleTicks() selects a group or all scopes, and clears a completely selected group', async (t) => {
  const groups = groupScopes(['profile', 'courses:read', 'courses:write', 'more:1'], aPageCatalogue())
  const courses = groups.find(({ name }) => name === 'Courses')?.scopes ?? []
  const start = new Set(['courses:read', 'more:1'])
  const group = toggleTicks(groups, start, 'group.Courses')
  t.same(group, new Set(['courses:read', 'more:1', 'courses:write']))
  t.same(toggleTicks(groups, group, 'group.Courses'), new Set(['more:1']))
  const all = toggleTicks(groups, start, 'all')
  t.equal(all.size, 4)
  t.equal(toggleTicks(groups, all, 'all').size, 0)
  for (const unknown of ['', 'group.', 'group.Nothing', 'Courses', 'ALL'])
    t.same(toggleTicks(groups, start, unknown), start, unknown)
  t.same(
    [new Set<string>(), start, all].map((ticked) => toggleState(courses, ticked)),
    ['false', 'mixed', 'true'],
  )
})

function form(scopes: readonly string[]): ReadonlyMap<string, string> {
  return new Map(scopes.map((scope) => [scopeField(scope), 'on']))
}

function manyScopes(writes: number): readonly ScopeDescription[] {
  const scope = (sensitivity: 'read' | 'write') => (_: unknown, index: number) => {
    const name = `${sensitivity}:${index}`
    return { name, description: name, group: name, sensitivity }
  }
  return [...Array.from({ length: 2 }, scope('read')), ...Array.from({ length: writes }, scope('write'))]
}

function catalogueOf(scopes: readonly ScopeDescription[]): ReadonlyMap<string, ScopeDescription> {
  return new Map(scopes.map((scope) => [scope.name, scope]))
}
