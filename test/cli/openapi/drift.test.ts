import t, { type Test } from 'tap'
import { main } from '../../../cli/main.ts'
import { aTerminal } from '../../fixtures/a-terminal.ts'

const policy = (path: string) => `apiVersion: scopegate/v1
kind: Policy
name: courses
upstream: learning-platform
defaults: { anonymous: challenge }
routes:
  - name: course
    match: { methods: [GET, DELETE, PUT], path: "${path}" }
    scopes: { all: [courses:read] }
`
const contract = (path: string) => `openapi: 3.1.0
security: [{ o: ["courses:read"] }]
paths: { "${path}": { get: {}, put: {} } }
components: { securitySchemes: { o: { type: oauth2 } } }
`

async function compare(t: Test, served: string, described: string) {
  const folder = t.testdir({ 'openapi.yaml': contract(described), 'courses.policy.yaml': policy(served) })
  const terminal = aTerminal({ folder })
  const code = await main(['import', 'openapi.yaml', '--check', 'courses.policy.yaml', '--json'], terminal)
  return { code, problems: JSON.parse(terminal.said.out).problems }
}

t.test('import --check reports an undescribed method on a path that the contract describes', async (t) => {
  const { code, problems } = await compare(t, '/api/courses/{id}', '/api/courses/{id}')
  t.equal(code, 1)
  t.equal(problems.length, 1)
  t.match(problems, [
    {
      code: 'O302',
      message: 'DELETE /api/courses/{id} has a route, but the contract does not describe it',
    },
  ])
})

t.test('import --check accepts a wildcard route when the contract describes one of its paths', async (t) => {
  t.match(await compare(t, '/api/courses/**', '/api/courses/{id}'), { code: 0, problems: { length: 0 } })
})

t.test('import --check names both files and the number of differences', async (t) => {
  const path = '/api/courses/{id}'
  const folder = t.testdir({ 'openapi.yaml': contract(path), 'courses.policy.yaml': policy(path) })
  const terminal = aTerminal({ folder })
  t.equal(await main(['import', 'openapi.yaml', '--check', 'courses.policy.yaml'], terminal), 1)
  t.match(terminal.said.out, /openapi\.yaml and \S*courses\.policy\.yaml differ in 1 place\n$/)
})
