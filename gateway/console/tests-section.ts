import { visibleText } from '../../platform/diagnostics/visible-text.ts'
import { docLink } from '../../platform/pages/docs-page.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { stateText } from '../../platform/pages/state-text.ts'
import { table } from '../../platform/pages/table.ts'
import { explanationTable } from './explain-page.ts'
import type { RouteTests, TestCounts, TestReport } from './policy-tests.ts'

const COLUMNS = [
  { title: 'Test' },
  { title: 'Result' },
  { title: 'Request' },
  { title: 'Token' },
  { title: 'Expected' },
  { title: 'Policy file' },
] as const

/** Returns the numbers of tests in words. */
export function describeCounts({ passed, failed }: TestCounts): Html | string {
  if (failed === 0) return passed === 0 ? 'none' : `${passed} passed`
  const text = `${failed} failed`
  return passed === 0
    ? stateText('wrong', text)
    : html`${stateText('wrong', text)}, <span class="words">${passed} passed</span>`
}

/** Returns the failed tests with their reasons, and a table of all tests. */
export function testResults(counts: TestCounts, tests: readonly TestReport[]): Html {
  const all = counts.passed + counts.failed
  return html`${tests.map(({ failure }) => failure !== null && html`<pre>${failure.text}</pre>${failure.rules.length > 0 && explanationTable(failure.rules)}`)}
${all > tests.length && html`<p>${all} tests; ${tests.length} are shown, failed tests first.</p>`}${table(COLUMNS, tests.map(toCells))}`
}

/** Returns the tests of a route. `null`: the results are not available. */
export function testsSection(tests: RouteTests | null, file: string): Html {
  return html`<section aria-labelledby="tests"><h2 id="tests">Tests</h2>
${tests === null ? html`<p>${NO_RESULTS}</p>` : sectionBody(tests, file)}
<p class="quiet-text">The gateway runs the tests in policy files with its active policies. It does not read files with the name <code>*_test.yaml</code>: run <code>scopegate test</code> for these tests. ${docLink('policies.md')}</p></section>`
}

export const NO_RESULTS = 'The results of the tests are not available yet. Try again in a few seconds.'

function sectionBody({ tests, example, ...counts }: RouteTests, file: string): Html {
  if (tests.length > 0)
    return html`<p>${describeCounts(counts)}</p>
${testResults(counts, tests)}`
  return html`<p>No test in a policy file belongs to this route.</p>
${example !== null && html`<p>Add this test to the list <code>tests</code> of <code>${file}</code>. Also add tests of requests that the route denies.</p><pre>${example}</pre>`}`
}

function toCells({ failure, it, request, token, expect, place }: TestReport): readonly (Html | string)[] {
  const { method, path, headers, mode } = request
  const more = { ...headers, ...(mode === undefined ? {} : { mode }) }
  return [
    visibleText(it),
    failure === null ? stateText('ok', 'passed') : stateText('wrong', 'failed'),
    html`<code>${method} ${path}</code>${Object.keys(more).length > 0 && html` ${describeValues(more)}`}`,
    token === null ? 'none' : describeValues(token) || 'without scopes',
    describeValues(expect),
    html`<code>${place}</code>`,
  ]
}

function describeValues(values: object): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined)
  return visibleText(
    present
      .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join(', '),
  )
}
