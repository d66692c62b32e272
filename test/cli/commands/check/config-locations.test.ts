import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { main } from '../../../../cli/main.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { aTerminal } from '../../../fixtures/a-terminal.ts'

const ROOT = findPackageRoot()

type Problem = {
  code: string
  line: number | null
  column: number | null
  hint: string | null
  message: string
}

async function check(t: Test, change: (text: string) => string, env: Record<string, string> = {}) {
  const folder = t.testdir({})
  for (const name of ['config', 'policies']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const file = join(folder, 'config/gateway.yaml')
  const text = change(readFileSync(file, 'utf8'))
  writeFileSync(file, text)
  const terminal = aTerminal({ folder, env })
  const code = await main(['check', '--json'], terminal)
  const problems = (JSON.parse(terminal.said.out).problems as Problem[]).filter(({ code }) => code !== 'N301')
  return {
    code,
    problems,
    lineOf: (part: string) => text.split('\n').findIndex((line) => line.includes(part)) + 1,
  }
}

t.test('check shows the line of a problem of an issuer or of the base URL', async (t) => {
  const issuers = `issuers:
  - { issuer: http://first.test, jwt: { algorithms: [HS256] } }
  - issuer: https://second.test
    jwt: {}
  - issuer: https://second.test
    jwt: { keys: { uri: http://keys.test/jwks } }
`
  const { code, problems, lineOf } = await check(t, (text) => text.replace('issuers:\n', issuers))
  t.equal(code, 3)
  const found = (code: string) => problems.filter((one) => one.code === code).map(({ line }) => line)
  t.same(found('C333'), [lineOf('HS256')])
  t.same(found('C330'), [lineOf('https://second.test') + 2])
  t.same(found('C336').toSorted(), [lineOf('http://first.test'), lineOf('keys.test')])
  const tls = await check(t, (text) =>
    `${text}\ntls: { certFile: ./a.pem, keyFile: ./a.key }\n`.replace(
      /^baseUrl: .*$/m,
      'baseUrl: http://api.test',
    ),
  )
  t.same(
    tls.problems.filter(({ code }) => code === 'C321').map(({ line }) => line),
    [tls.lineOf('baseUrl: ')],
  )
})

t.test('check explains a URL without a scheme, and names the variable', async (t) => {
  const inFile = await check(t, (text) => text.replace(/^baseUrl: .*$/m, 'baseUrl: api.test'))
  t.equal(inFile.problems.length, 1, 'presets that could not be read cause no other problem')
  t.match(inFile.problems, [{ code: 'C105', hint: 'did you mean https://api.test?' }])
  const withPath = await check(t, (text) => text.replace(/^baseUrl: .*$/m, 'baseUrl: https://api.test/v1/'))
  t.match(withPath.problems, [{ code: 'C105', hint: 'did you mean https://api.test?' }])
  const inVariable = await check(t, (text) => text, { SCOPEGATE_BASE_URL: 'api.test' })
  t.match(inVariable.problems, [
    {
      code: 'C105',
      message: /^SCOPEGATE_BASE_URL: "api\.test" is not /,
      hint: 'did you mean https://api.test?',
    },
  ])
})
