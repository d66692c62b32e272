import t from 'tap'
import { consentPage } from '../../../authorization-server/consent/consent-page.ts'
import { groupScopes } from '../../../authorization-server/consent/scope-selection.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'

const CATALOGUE = new Map(aCatalogue(['openid', 'courses:read', 'courses:write', 'courses:own']))
const write = CATALOGUE.get('courses:write')
const own = CATALOGUE.get('courses:own')
if (write === undefined || own === undefined) throw new Error('the catalogue lacks a scope')
CATALOGUE.set('courses:write', { ...write, implies: ['courses:read'] })
CATALOGUE.set('courses:own', { ...own, implies: ['courses:write'] })

t.test(
  'groupScopes() names the implied scopes of a scope, requested or not, over any number of steps',
  async (t) => {
    const [group] = groupScopes(['openid', 'courses:read', 'courses:own'], CATALOGUE)
    t.match(group?.scopes, [
      { name: 'courses:read', comesWith: [] },
      { name: 'courses:own', comesWith: ['Use courses:read', 'Use courses:write'] },
    ])
  },
)

t.test('the consent page names the scopes that a checkbox includes', async (t) => {
  const { body } = consentPage({
    clientName: 'App',
    verified: false,
    serviceName: 'Platform',
    account: { name: 'Alice', username: 'alice' },
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
