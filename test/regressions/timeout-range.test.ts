import t from 'tap'
import { GatewayFile } from '../../gateway/config/gateway-file.ts'
import { UpstreamsFile } from '../../gateway/config/upstreams-file.ts'
import { compileValidator } from '../../platform/diagnostics/schema/compile-validator.ts'
import { loadPolicies } from '../../policy-engine/load/load-policies.ts'

const policy = (timeout: string) => `apiVersion: scopegate/v1
kind: Policy
name: test
upstream: api
defaults: { timeout: ${timeout} }
routes:
  - { name: one, match: { methods: [GET], path: /a }, timeout: ${timeout} }
`
const location = (path: readonly unknown[]) => ({
  file: 'a.yaml',
  line: path.length + 1,
  column: 1,
  length: 1,
  text: '',
})

// A timer of more than 24.8 days fires immediately. Before the fix, `timeout: 30d` and `timeout: 0s` caused 504 for
// every request.
for (const timeout of ['30d', '25d', '9999999s', '100h', '9999m', '0s', '0ms', '00h'])
  t.test(`rejects a timeout of ${timeout} in policies and in the configuration`, async (t) => {
    const { diagnostics } = loadPolicies({ dir: t.testdir({ 'test.policy.yaml': policy(timeout) }) })
    t.match(diagnostics, [
      { code: 'P105', severity: 'error', location: { line: 5 } },
      { code: 'P105', message: /is not a duration such as .* from 1ms to 99h/, location: { line: 7 } },
    ])
    const checkUpstreams = compileValidator(UpstreamsFile, { letter: 'C' })
    t.match(checkUpstreams({ api: { url: 'http://a', timeout } }, location), [{ code: 'C105' }])
    const checkGateway = compileValidator(GatewayFile, { letter: 'C' })
    const introspection = { endpoint: 'http://a/i', clientId: 'a', clientSecretFile: 'a', timeout }
    const problems = checkGateway({ issuers: [{ issuer: 'http://a', introspection }] }, location)
    t.ok(problems.some(({ code, message }) => code === 'C105' && message.includes(timeout)))
  })

t.test('accepts timeouts within the range of a timer', async (t) => {
  for (const timeout of ['1ms', '9999999ms', '99999s', '999m', '99h']) {
    const { diagnostics, routes } = loadPolicies({
      dir: t.testdir({ 'test.policy.yaml': policy(timeout) }),
    })
    t.same(
      diagnostics.filter(({ severity }) => severity === 'error'),
      [],
    )
    const ms = routes[0]?.timeoutMs ?? 0
    t.ok(ms > 0 && ms < 2 ** 31, timeout)
  }
})
