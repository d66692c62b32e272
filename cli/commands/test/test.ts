import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { explainTest, runPolicyTests, type TestResult } from '../../../gateway/simulate/run-policy-tests.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import type { PolicyTest } from '../../../policy-engine/format/policy-test.ts'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { findFolders, noteShippedConfig } from '../../find-folders.ts'
import { openOrReport } from '../../open-policy-set.ts'
import { measureCoverage } from '../../simulate/measure-coverage.ts'
import { toSimulationPolicies } from '../../simulate/open-simulation-policies.ts'
import { renderReasons } from '../../simulate/render-explanation.ts'
import { renderCoverage, renderTests } from '../../simulate/render-tests.ts'
import type { Terminal } from '../../terminal.ts'

const EXIT_INVALID = 3
const EXIT_FAILED = 4

export async function test(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const paths = readPaths(given, terminal.folder)
  const folders = findFolders(given, terminal, paths.dir)
  noteShippedConfig(folders, terminal)
  const set = await openOrReport(folders, given, terminal)
  if (set === undefined) return EXIT_INVALID
  const nowSeconds = Math.floor(Date.now() / 1_000)
  const chosen = set.policies.tests.filter((one) => isChosen(one, given.text('filter'), paths.files))
  if (chosen.length === 0 && given.has('filter'))
    throw usageError('test', `no test has "${given.text('filter')}" in its name, policy, method or path`)
  const simulated = toSimulationPolicies(set)
  const results = runPolicyTests(chosen, simulated, nowSeconds)
  const policies = new Set(chosen.map((one) => one.policy))
  const isPart = paths.files !== undefined || given.has('filter')
  const routes = set.compiled.routes.filter(({ policy }) => !isPart || policies.has(policy.policy))
  const coverage = given.has('coverage') ? measureCoverage(routes, results) : undefined
  const explain = (result: TestResult): string => renderReasons(explainTest(result, simulated, nowSeconds))
  if (given.has('json'))
    terminal.out.write(`${JSON.stringify(toJson(results, coverage, explain), undefined, 2)}\n`)
  else {
    terminal.out.write(renderTests(results, { colour: terminal.colour, explain }))
    if (coverage !== undefined) terminal.out.write(renderCoverage(coverage, terminal.colour))
  }
  return results.some(({ failures }) => failures.length > 0) ? EXIT_FAILED : 0
}

/**
 * Returns the policy folder, and the files whose tests run. Reads the complete folder, because other routes affect a
 * decision.
 */
function readPaths(
  given: ParsedArguments,
  folder: string,
): { readonly dir: string | undefined; readonly files: ReadonlySet<string> | undefined } {
  const paths = given.positionals.map((word) => resolve(folder, word))
  const [first] = paths
  if (first === undefined) return { dir: undefined, files: undefined }
  if (given.has('policies')) throw usageError('test', 'use either --policies or PATH')
  const isFolder = paths.map((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory())
  if (paths.length === 1 && isFolder[0] === true) return { dir: first, files: undefined }
  const dirs = new Set(paths.map((path) => dirname(path)))
  for (const [at, path] of paths.entries())
    if (isFolder[at] !== false || dirs.size > 1)
      throw usageError('test', `${displayPath(path)}: PATH must be one folder, or files of one folder`)
  return { dir: dirname(first), files: new Set(paths.map((path) => displayPath(path))) }
}

function isChosen(
  { it, policy, request, source }: PolicyTest,
  filter: string | undefined,
  files: ReadonlySet<string> | undefined,
): boolean {
  if (files !== undefined && !files.has(source.file)) return false
  const text = `${policy}: ${it}\n${request.method} ${request.path}`.toLowerCase()
  return filter === undefined || text.includes(filter.toLowerCase())
}

function toJson(
  results: readonly TestResult[],
  coverage: ReturnType<typeof measureCoverage> | undefined,
  explain: (result: TestResult) => string,
) {
  return {
    passed: results.filter(({ failures }) => failures.length === 0).length,
    failed: results.filter(({ failures }) => failures.length > 0).length,
    tests: results.map((result) => ({
      policy: result.test.policy,
      it: result.test.it,
      place: result.test.source,
      passed: result.failures.length === 0,
      decision: result.simulation?.decision.outcome ?? null,
      route: result.simulation?.decision.route?.policy.name ?? null,
      failures: result.failures.map(({ code, message, hint, location }) => ({
        code,
        message,
        got: hint,
        place: { file: location.file, line: location.line, column: location.column },
      })),
      ...(result.failures.length === 0 ? {} : { reasons: explain(result).split('\n') }),
    })),
    ...(coverage === undefined ? {} : { coverage }),
  }
}
