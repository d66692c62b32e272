import t from 'tap'
import { main } from '../../cli/main.ts'
import { aTerminal } from '../fixtures/a-terminal.ts'

// Before the fix, a test that expected a denial passed for a mistyped path. No route matches such a path, so the
// gateway denies each request.

const policy = (request: string, expect: string) => `apiVersion: scopegate/v1
kind: Policy
name: p
upstream: learning-platform
routes:
  - name: change
    match: { methods: [PATCH], path: "/api/courses/{id}" }
tests:
  - it: denies it
    request: { method: ${request} }
    expect: { ${expect} }
`

t.test('a policy test whose request matches no route fails, unless the test expects that', async (t) => {
  const run = async (request: string, expect: string) => {
    const dir = t.testdir({ 'p.policy.yaml': policy(request, expect) })
    const terminal = aTerminal()
    return { code: await main(['test', '--policies', dir], terminal), out: terminal.said.out }
  }
  const slip = await run('PATCH, path: /api/coursse/42', 'decision: deny')
  t.equal(slip.code, 4)
  t.match(slip.out, /error\[T404\]: "denies it": no route matches[\s\S]*expect status: 404/)
  t.match((await run('DELETE, path: /api/courses/42', 'decision: deny')).out, /T404[\s\S]*expect status: 405/)
  t.equal((await run('PATCH, path: /api/coursse/42', 'decision: deny, status: 404')).code, 0)
  t.equal((await run('PATCH, path: /api/coursse/42', 'decision: deny, error: not_found')).code, 0)
})
