import type { KoaContextWithOIDC } from 'oidc-provider'
import t from 'tap'
import { checkTarget, requestRules } from '../../../authorization-server/engine/request-rules.ts'
import { aCatalogue } from '../../fixtures/a-catalogue.ts'

const rules = requestRules(aCatalogue(), { optionalState: false })
const lenient = requestRules(aCatalogue(), { optionalState: true })

/** Applies a rule to a request with this query. Returns the code, description and scope of the error. */
function check(rule: string, query: object, { from = rules, oidc = {} } = {}): unknown {
  const ctx = { query, oidc: { route: 'authorization', body: undefined, ...oidc } }
  try {
    from[rule]?.(ctx as unknown as KoaContextWithOIDC, undefined)
    return undefined
  } catch (thrown) {
    const { error, error_description: description, scope } = thrown as Record<string, unknown>
    return [error, description, scope]
  }
}
const pushed = (body: object) => ({ oidc: { route: 'pushed_authorization_request', body } })

const NO_SCOPE = [
  'invalid_request',
  'scope is required: name the scopes that you need, separated by spaces',
  undefined,
]
const NO_STATE = [
  'invalid_request',
  'state is required: send a random value, and compare it with state in the redirect',
  undefined,
]

t.test('requestRules() returns a rule for scope, state and response_mode', async (t) => {
  t.same(Object.keys(rules), ['scope', 'state', 'response_mode'])
})

t.test('§3.1 of RFC 6749: an empty, absent or repeated scope is invalid_request', async (t) => {
  for (const scope of [undefined, '', ['openid', 'openid']]) t.strictSame(check('scope', { scope }), NO_SCOPE)
  t.strictSame(check('scope', {}, pushed({})), NO_SCOPE)
  t.strictSame(check('scope', {}, { oidc: { route: 'pushed_authorization_request' } }), NO_SCOPE)
})

t.test('§3.3 of RFC 6749: an unknown or malformed scope is invalid_scope', async (t) => {
  t.strictSame(check('scope', { scope: 'openid "quoted"' }), [
    'invalid_scope',
    'scope is not valid: separate scopes by one space, and use only the characters of RFC 6749 section 3.3',
    '',
  ])
  t.strictSame(check('scope', { scope: 'openid no:such offline_access none:such' }), [
    'invalid_scope',
    'a requested scope is unknown; scopes_supported in the metadata lists all scopes',
    'no:such none:such',
  ])
  t.match(check('scope', { scope: 'openid no:such' }), ['invalid_scope', String, 'no:such'])
  t.strictSame(check('scope', { scope: 'offline_access' }), [
    'invalid_scope',
    'offline_access alone grants no access: name the scopes that you need',
    'offline_access',
  ])
  for (const scope of ['openid', 'openid courses:read', 'offline_access openid'])
    t.equal(check('scope', { scope }), undefined, scope)
})

t.test(
  'the rules skip a request with request_uri, unless the request is pushed or request_uri is empty',
  async (t) => {
    const request_uri = 'urn:ietf:params:oauth:request_uri:1'
    t.equal(check('scope', { request_uri }), undefined)
    t.equal(check('state', { request_uri }), undefined)
    t.strictSame(check('scope', { request_uri: '' }), NO_SCOPE)
    t.strictSame(check('scope', { scope: 'openid' }, pushed({ request_uri })), NO_SCOPE)
    t.equal(check('scope', {}, pushed({ request_uri, scope: 'openid' })), undefined)
  },
)

t.test('state is required unless the configuration makes it optional', async (t) => {
  for (const state of [undefined, '']) {
    t.strictSame(check('state', { state }), NO_STATE)
    t.equal(check('state', { state }, { from: lenient }), undefined)
  }
  t.equal(check('state', { state: 'a' }), undefined)
  t.equal(check('state', {}, pushed({ state: 'a' })), undefined)
  t.strictSame(check('state', { state: 'a' }, pushed({})), NO_STATE)
})

t.test('response_mode must be query, and the error redirect does not use another mode', async (t) => {
  for (const mode of [undefined, 'query'])
    t.equal(check('response_mode', {}, { oidc: { params: { response_mode: mode } } }), undefined)
  t.equal(check('response_mode', {}), undefined)
  const params = { response_mode: 'fragment', state: 'a' }
  t.strictSame(check('response_mode', {}, { oidc: { params } }), [
    'unsupported_response_mode',
    'response_mode must be query',
    undefined,
  ])
  t.strictSame(params, { response_mode: undefined, state: 'a' })
})

const ONE = 'https://api.test'
const MCP = 'https://api.test/mcp'

t.test('§2 of RFC 8707: checkTarget() rejects several resources and unknown resources', async (t) => {
  const several = {
    message: 'invalid_target',
    error_description: 'name one resource: a token is valid for one API only',
  }
  t.throws(() => checkTarget([ONE, MCP], ONE, [ONE, MCP]), several)
  t.throws(() => checkTarget([ONE, ONE], ONE, [ONE]), several)
  t.throws(() => checkTarget(MCP, MCP, [ONE]), {
    message: 'invalid_target',
    error_description: 'resource must be https://api.test, the only API this server issues tokens for',
  })
  t.throws(() => checkTarget('https://elsewhere.test', 'https://elsewhere.test', [ONE, MCP]), {
    message: 'invalid_target',
    error_description:
      'this server issues no tokens for that resource; protected_resources in its metadata lists all resources',
  })
})

t.test('checkTarget() accepts one known resource', async (t) => {
  for (const asked of [undefined, ONE, [ONE]]) checkTarget(asked, ONE, [MCP, ONE])
  t.pass('nothing was thrown')
})
