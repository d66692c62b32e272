import t, { type Test } from 'tap'
import { type CheckFormat, check } from '../../../../cli/commands/check/check.ts'
import { renderGithub } from '../../../../cli/commands/check/render-github.ts'
import { renderJson } from '../../../../cli/commands/check/render-json.ts'
import { renderSarif } from '../../../../cli/commands/check/render-sarif.ts'
import type { CheckReport } from '../../../../cli/commands/check/report.ts'
import { type Diagnostic, diagnostic, wholeFile } from '../../../../platform/diagnostics/diagnostic.ts'
import { findPackageRoot } from '../../../../platform/process/package-root.ts'
import { findSarifFaults } from '../../../fixtures/find-sarif-faults.ts'

const location = { file: 'policies/a, b:c.policy.yaml', line: 3, column: 7, length: 4, text: 'name: "é"' }
const AWKWARD: readonly Diagnostic[] = [
  diagnostic('P101', '100% wrong,\r\nin: two lines', location, { hint: '::error::injected' }),
  diagnostic('P305', 'a warning', location, {
    severity: 'warning',
    related: [{ message: 'the other path', location }],
  }),
  diagnostic('C110', 'sets nothing', wholeFile('environment variable SCOPEGATE_BASE_ULR')),
  diagnostic('P001', 'the file does not exist', wholeFile('/elsewhere/a b.policy.yaml')),
]

function aReport(problems: readonly Diagnostic[], notes: readonly Diagnostic[] = []): CheckReport {
  const sizes = { policies: 1, routes: 2, scopesUsed: 3, scopes: 4, tests: 5 }
  return { problems, notes, sizes, hiddenErrors: 0, folders: [], sources: [] }
}

async function run(t: Test, format: CheckFormat, policy: string) {
  let text = ''
  const exitCode = await check({
    configDir: `${findPackageRoot()}/config`,
    policiesDir: t.testdir({ 'a.policy.yaml': policy }),
    out: { write: (part) => (text += part) },
    colour: false,
    format,
  })
  return { exitCode, text }
}

const BROKEN =
  'apiVersion: scopegate/v1\nkind: Policy\nname: a\nupstream: learning-platform\nroutes:\n  - name: x\n    match: { methods: [GET], path: /x }\n    scopes: { all: [course:read] }\n    timout: 5s\n    anonymous: deny\n'

t.test('renderGithub() escapes text of a file that would be a command or a property', async (t) => {
  const lines = renderGithub(aReport(AWKWARD), { allNotes: true }).split('\n')
  t.equal(
    lines[0],
    '::error file=policies/a%2C b%3Ac.policy.yaml,line=3,col=7,endColumn=11,title=P101::100%25 wrong,%0D%0Ain: two lines%0A::error::injected%0Adocs/errors/P101.md',
  )
  t.match(lines[1], /^::warning .*::a warning%0Athe other path: policies\/a, b:c\.policy\.yaml:3%0A/)
  t.equal(
    lines[2],
    '::error file=environment variable SCOPEGATE_BASE_ULR,title=C110::sets nothing%0Adocs/errors/C110.md',
  )
  t.same(lines.slice(4), ['3 errors', ''])
  const note = diagnostic('N301', 'a note', location, { severity: 'note' })
  t.match(renderGithub(aReport([], [note]), { allNotes: true }), /^::notice /)
  t.equal(renderGithub(aReport([], [note]), { allNotes: false }), 'ok\n')
})

t.test('renderSarif() writes valid SARIF 2.1.0, also for problems without a file', async (t) => {
  const log = JSON.parse(renderSarif(aReport(AWKWARD), '1.2.3'))
  t.same(findSarifFaults(log), [])
  const { results, tool } = log.runs[0]
  t.same(
    tool.driver.rules.map(({ id }: { id: string }) => id),
    ['C110', 'P001', 'P101', 'P305'],
  )
  t.match(tool.driver.rules[2].help.markdown, /^# P101: /)
  t.same(results[0].locations[0].physicalLocation, {
    artifactLocation: { uri: 'policies/a%2C%20b%3Ac.policy.yaml' },
    region: { startLine: 3, startColumn: 7, endColumn: 11, snippet: { text: 'name: "é"' } },
  })
  t.match(results[1].relatedLocations, [{ id: 0, message: { text: 'the other path' } }])
  t.same(results[2].locations, [])
  t.equal(
    results[3].locations[0].physicalLocation.artifactLocation.uri,
    'file:///elsewhere/a%20b.policy.yaml',
  )
  t.same(findSarifFaults(JSON.parse(renderSarif(aReport([]), '1.2.3'))), [])
})

t.test('renderJson() writes every key, with null for missing values', async (t) => {
  const json = JSON.parse(renderJson(aReport(AWKWARD)))
  t.same(Object.keys(json), ['version', 'ok', 'summary', 'problems'])
  t.same(json.summary, {
    errors: 3,
    warnings: 1,
    notes: 0,
    hiddenErrors: 0,
    policies: 1,
    routes: 2,
    scopesUsed: 3,
    scopes: 4,
    tests: 5,
  })
  t.same(json.problems[0], {
    code: 'P101',
    severity: 'error',
    message: '100% wrong,\r\nin: two lines',
    hint: '::error::injected',
    file: 'policies/a, b:c.policy.yaml',
    line: 3,
    column: 7,
    length: 4,
    related: [],
    page: 'docs/errors/P101.md',
  })
  t.match(json.problems[2], { hint: null, line: null, column: null, length: null })
})

t.test('check() reports the same problems and exits with 3 in each format', async (t) => {
  const pretty = await run(t, 'pretty', BROKEN)
  t.match(
    pretty.text,
    /error\[P201\][\s\S]*error\[P101\][\s\S]*\n2 errors\nexplained in docs\/errors\/P201\.md, docs\/errors\/P101\.md;/,
  )
  const json = await run(t, 'json', BROKEN)
  t.match(JSON.parse(json.text), {
    ok: false,
    problems: [
      { code: 'P201', line: 8, column: 21, hint: 'did you mean "courses:read"?' },
      { code: 'P101', line: 9, column: 5, hint: 'did you mean "timeout"?' },
    ],
  })
  const github = await run(t, 'github', BROKEN)
  t.equal(github.text.match(/^::error file=.*line=[89],/gm)?.length, 2)
  const sarif = await run(t, 'sarif', BROKEN)
  t.same(findSarifFaults(JSON.parse(sarif.text)), [])
  for (const { exitCode } of [pretty, json, github, sarif]) t.equal(exitCode, 3)
})

t.test('check() without problems writes valid output and exits with 0 in each format', async (t) => {
  const good = BROKEN.replace('course:read', 'courses:read').replace('timout', 'timeout')
  t.match(await run(t, 'pretty', good), {
    exitCode: 0,
    text: /^ok: 1 policy, 1 route, 1 of 38 scopes used, no tests\n$/,
  })
  t.match(JSON.parse((await run(t, 'json', good)).text), { ok: true, problems: { length: 0 } })
  t.match(await run(t, 'github', good), { exitCode: 0, text: 'ok\n' })
  t.match(JSON.parse((await run(t, 'sarif', good)).text).runs[0].results, { length: 0 })
})

t.test(
  'check() runs the policy tests when all other checks pass, and exits with 4 when one fails',
  async (t) => {
    const good = BROKEN.replace('course:read', 'courses:read').replace('timout', 'timeout')
    const test = (decision: string) =>
      `tests:\n  - it: is for people with a token\n    request: { method: GET, path: /x }\n    expect: { decision: ${decision} }\n`
    const passed = await run(t, 'pretty', good + test('deny'))
    t.match(passed, { exitCode: 0, text: /, 1 test passed\n$/ })
    const failed = await run(t, 'pretty', good + test('allow'))
    t.match(failed, {
      exitCode: 4,
      text: /^error\[T401\][\s\S]*\n1 of 1 test failed\nexplained in docs\/errors\/T401.md/,
    })
    t.match(JSON.parse((await run(t, 'json', good + test('allow'))).text), {
      ok: false,
      summary: { tests: 1 },
    })
    const neither = await run(t, 'json', BROKEN + test('allow'))
    t.equal(neither.exitCode, 3)
    t.match(JSON.parse(neither.text), { summary: { tests: null, errors: 2 } })
  },
)
