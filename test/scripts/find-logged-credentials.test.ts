import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { findLoggedCredentials } from '../fixtures/find-logged-credentials.ts'
import { signJws } from '../fixtures/jws.ts'
import { plainEnvironment } from '../fixtures/spawn-plainly.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const OPAQUE = randomBytes(32).toString('base64url')
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const JWT = signJws(
  { alg: 'ES256', typ: 'at+jwt', kid: 'key-1' },
  { sub: 'alice', scope: 'courses:read' },
  privateKey,
)
const [header = '', payload = '', signature = ''] = JWT.split('.')

/** Creates a folder with the captured log and the captured credentials of a test run. */
function aCapture(t: Test, log: string, credentials: readonly string[] = [OPAQUE, JWT]): string {
  return t.testdir({
    logs: { 'some.test.ts.1.0.gateway': log },
    credentials: { '1': credentials.map((one) => `${JSON.stringify(one)}\n`).join('') },
  })
}

const LEAKS: readonly (readonly [what: string, line: string])[] = [
  ['alone', OPAQUE],
  ['in a header', JSON.stringify({ event: 'request_failed', authorization: `Bearer ${OPAQUE}` })],
  ['in an address', `{"url.path":"/x?access_token=${OPAQUE}&a=b"}`],
  ['behind an escaped line end', JSON.stringify({ msg: `said:\n${OPAQUE}` })],
  ['grown together with other letters', `token${OPAQUE}s`],
  ['as a JWT', `cannot verify ${JWT}`],
  ['in the claims of a JWT', `claims ${payload}`],
  ['as the signature of a JWT', `bad signature ${signature}`],
]

for (const [what, line] of LEAKS)
  t.test(`finds a credential ${what}, and does not print it`, async (t) => {
    const { found } = findLoggedCredentials(aCapture(t, `{"event":"serving"}\n${line}\n`))
    t.equal(found.length, 1)
    t.match(found[0], /^some\.test\.ts\.1\.0\.gateway, line 2(?:, event request_failed)?$/)
    t.notMatch(found[0], OPAQUE)
  })

t.test('ignores text that resembles a credential', async (t) => {
  const log = `${header}.x.y ${OPAQUE.slice(0, -1)} ${randomBytes(32).toString('base64url')} app\n`
  const search = findLoggedCredentials(aCapture(t, log, [OPAQUE, JWT, 'app']))
  t.match(search, { credentials: 2, tooShort: 1, logs: 1, found: [] })
})

t.test('counts zero credentials and zero logs when a run captured nothing', async (t) => {
  t.match(findLoggedCredentials(t.testdir({})), { credentials: 0, logs: 0, lines: 0 })
})

function run(
  t: Test,
  program: string,
): { readonly status: number | null; readonly output: string; readonly sum: object } {
  const folder = t.testdir({ 'one.test.ts': '' })
  const file = join(folder, 'one.test.ts')
  const sum = join(folder, 'sum.json')
  const fixtures = join(ROOT, 'test', 'fixtures')
  writeFileSync(
    file,
    `import t from '${join(ROOT, 'node_modules/tap/dist/esm/index.js')}'
import { captureLog, recordCredential } from '${join(fixtures, 'capture.ts')}'
t.ok(process.env.TEST_CAPTURE_DIR)
t.comment('captured in', process.env.TEST_CAPTURE_DIR)
${program}`,
  )
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, 'scripts/run-tests.js'), '--sum', sum, file],
    { cwd: ROOT, encoding: 'utf8', env: plainEnvironment() },
  )
  return { status, output: stdout, sum: JSON.parse(readFileSync(sum, 'utf8')) }
}

t.test('the runner fails when a test writes a credential to a log, and counts the failure', async (t) => {
  const { status, output, sum } = run(
    t,
    `recordCredential('${OPAQUE}'); captureLog('gateway')('{"event":"oops","t":"${OPAQUE}"}\\n')`,
  )
  t.equal(status, 1)
  t.match(
    output,
    /FAILED: the log of one\.test\.ts\.\d+\.\d+\.gateway, line 1, event oops contains a credential/,
  )
  t.notMatch(output, OPAQUE)
  t.same(sum, { passed: 1, failed: 1 })
})

t.test(
  'the runner counts a search without results as an assertion, and removes the captured files',
  async (t) => {
    const program = `recordCredential('${OPAQUE}'); captureLog('gateway')('{"event":"fine"}\\n')
t.fail(process.env.TEST_CAPTURE_DIR)`
    const { output, sum } = run(t, program)
    t.same(sum, { passed: 2, failed: 1 })
    t.match(output, 'logs for 1 credentials')
    const [, folder = ''] = /not ok \d+ - (\S+scopegate-tests-\S+)/.exec(output) ?? []
    t.not(folder, '')
    t.notOk(existsSync(folder))
  },
)
