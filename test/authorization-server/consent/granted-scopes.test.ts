import t from 'tap'
import { grantedScopes, scopeField } from '../../../authorization-server/consent/granted-scopes.ts'
import { groupScopes } from '../../../authorization-server/consent/scope-groups.ts'
import { aCatalogue } from '../../fixtures/start-pages.ts'

const ASKED = ['courses:write', 'openid', 'profile']

t.test(
  'grantedScopes() gives nothing that was not asked for, and keeps the order of the request',
  async (t) => {
    t.strictSame(grantedScopes(ASKED, ticked('courses:read', 'profile'), aCatalogue()), ['openid', 'profile'])
    t.strictSame(grantedScopes(ASKED, ticked('profile', 'courses:write'), aCatalogue()), ASKED)
    t.equal(grantedScopes(ASKED, ticked(), aCatalogue()), undefined)
    t.equal(grantedScopes(ASKED, ticked('openid'), aCatalogue()), undefined)
    t.strictSame(grantedScopes(['openid'], ticked(), aCatalogue()), ['openid'])
    t.strictSame(grantedScopes([], ticked('profile'), aCatalogue()), [])
  },
)

t.test('groupScopes() follows the catalogue, without openid', async (t) => {
  const groups = groupScopes(ASKED, aCatalogue())
  t.strictSame(
    groups.map(({ name, scopes }) => [name, ...scopes.map((scope) => scope.name)]),
    [
      ['Identity', 'profile'],
      ['Courses', 'courses:write'],
    ],
  )
})

function ticked(...scopes: readonly string[]): ReadonlyMap<string, string> {
  return new Map(scopes.map((scope) => [scopeField(scope), 'on']))
}
