import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHART, HELM_ENVIRONMENT, helm } from './render-chart.ts'

const { SCOPEGATE_HELM_UNITTEST: program } = process.env
if (program === undefined)
  throw new Error('SCOPEGATE_HELM_UNITTEST is not set: run the checks with `node scripts/check-chart.js`')

const SUITES = readdirSync(join(CHART, 'tests')).filter((name) => name.endsWith('_test.yaml'))

for (const suite of SUITES) {
  t.test(`helm-unittest: helm/tests/${suite}`, async (t) => {
    const report = join(t.testdir(), 'report.xml')
    const { status, stdout, stderr } = spawnSync(
      program,
      [
        ...['--strict', '--file', join('tests', suite)],
        ...['--output-type', 'JUnit', '--output-file', report, CHART],
      ],
      { encoding: 'utf8', env: HELM_ENVIRONMENT },
    )
    if (status !== 0) t.comment(`${stdout}${stderr}`)
    t.equal(status, 0, 'each test passes')
    const cases = [
      ...readFileSync(report, 'utf8').matchAll(
        /<testcase [^>]*name="([^"]*)"[^>]*>(\s*<(?:failure|error)\b)?/g,
      ),
    ]
    t.not(cases.length, 0, 'the suite contains tests')
    for (const [, name, failure] of cases) t.equal(failure, undefined, name ?? '')
  })
}

t.test('the packaged chart contains no test suite', async (t) => {
  const folder = t.testdir()
  const { status, stderr } = helm('package', CHART, '--destination', folder)
  t.equal(status, 0, stderr)
  const [archive] = readdirSync(folder)
  const { stdout } = spawnSync('tar', ['-tzf', join(folder, archive ?? '')], { encoding: 'utf8' })
  const files = stdout.split('\n')
  t.ok(files.includes('scopegate/values.yaml'), 'the archive contains the chart')
  t.same(
    files.filter((file) => file.startsWith('scopegate/tests/')),
    [],
  )
})
