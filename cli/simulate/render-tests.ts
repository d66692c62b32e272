import { styleText } from 'node:util'
import type { TestResult } from '../../gateway/simulate/run-policy-tests.ts'
import { formatDiagnostics } from '../../platform/diagnostics/format-diagnostics.ts'
import type { RouteCoverage, RouteOutcome } from './measure-coverage.ts'

const OUTCOMES: readonly RouteOutcome[] = ['allow', 'deny', 'anonymous']

export function renderTests(
  results: readonly TestResult[],
  options: { readonly colour: boolean; readonly explain: (result: TestResult) => string },
): string {
  const failed = results.filter(({ failures }) => failures.length > 0)
  const shown = failed.map((result) => {
    const why = options.explain(result)
    return `${formatDiagnostics(result.failures, options)}\n${why === '' ? '' : `\n${indent(why)}\n`}`
  })
  const policies = new Set(results.map(({ test }) => test.policy)).size
  const tests = `${results.length} test${results.length === 1 ? '' : 's'} of ${policies} ${policies === 1 ? 'policy' : 'policies'}`
  const sum =
    failed.length > 0
      ? `${failed.length} of ${tests} failed`
      : results.length === 0
        ? 'no tests'
        : `ok: ${tests}`
  return `${[...shown, sum].join('\n')}\n`
}

/** Formats one line per route: the outcomes with a test, and the outcomes without a test. */
export function renderCoverage(coverage: readonly RouteCoverage[], colour: boolean): string {
  const width = Math.max(0, ...coverage.map(({ route }) => route.length))
  const lines = coverage.map(({ route, outcomes }) => {
    const cells = OUTCOMES.map((outcome) => {
      const reached = outcomes[outcome]
      if (reached === undefined) return ' '.repeat(outcome.length + 2)
      const mark = reached ? '✓' : '–'
      return `${outcome} ${colour ? styleText(reached ? 'green' : 'yellow', mark, { validateStream: false }) : mark}`
    })
    return `  ${route.padEnd(width)}  ${cells.join('  ')}`.trimEnd()
  })
  const all = coverage.flatMap(({ outcomes }) => Object.values(outcomes))
  const reached = all.filter((one) => one).length
  const unmet = coverage.filter(({ outcomes }) => !Object.values(outcomes).includes(true)).length
  const routes = unmet === 0 ? '' : `; routes without a test: ${unmet} of ${coverage.length}`
  return `${lines.join('\n')}\n${reached} of ${all.length} outcomes are tested${routes}\n`
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '    ')
}
