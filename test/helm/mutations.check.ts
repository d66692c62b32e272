import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import t from 'tap'
import type { KubeObject } from './kube-object.ts'
import { CHART, HELM_ENVIRONMENT, parseObjects } from './render-chart.ts'
import { startCluster } from './start-cluster.ts'
import { type Mutant, makeTemplateMutants } from './template-mutants.ts'
import { VALUE_ERRORS } from './value-errors.ts'
import { findLostValues, SCENARIOS, type Scenario } from './value-scenarios.ts'

/** Minimum number of mutants that helm renders. A smaller number means that the generator of mutants misses lines. */
const LEAST_RENDERED = 60
/** Number of concurrent helm processes. */
const SLOTS = 2

/** A Secret that an earlier installation generated. */
const KEPT: KubeObject = {
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gw-scopegate-cookie-keys' } },
  data: { 'cookie-keys': Buffer.from('kept').toString('base64') },
}

type ScenarioFile = { readonly scenario: Scenario; readonly file: string }
/** The scenarios in the order of their checks, and a configuration for a cluster that contains KEPT. */
type Setting = { readonly scenarios: ScenarioFile[]; readonly kubeconfig: string }
type Outcome = 'survived' | 'does not render' | 'caught by a check'

t.test('at least one check fails for each mutant of a template', async (t) => {
  const mutants = [...makeTemplateMutants(CHART)]
  const folder = t.testdir()
  const scenarios = SCENARIOS.map((scenario, index): ScenarioFile => {
    const file = join(folder, `${index}.json`)
    writeFileSync(file, JSON.stringify(scenario.values))
    return { scenario, file }
  })
  const { kubeconfig } = await startCluster(t, [KEPT])
  const unchanged = { message: undefined, text: 'scopegate.keptSecret fail' }
  const baseline = await judge(unchanged, CHART, { scenarios, kubeconfig })
  t.equal(baseline, 'survived', 'the chart itself passes every check')
  const outcomes = new Map<Mutant, Outcome>()
  const queue = mutants.values()
  const work = async (slot: number): Promise<void> => {
    const chart = join(folder, `chart-${slot}`)
    cpSync(CHART, chart, { recursive: true })
    const setting: Setting = { scenarios: [...scenarios], kubeconfig }
    for (const mutant of queue) {
      const path = join(chart, 'templates', mutant.file)
      const original = readFileSync(path, 'utf8')
      writeFileSync(path, mutant.text)
      outcomes.set(mutant, await judge(mutant, chart, setting))
      writeFileSync(path, original)
    }
  }
  await Promise.all(Array.from({ length: SLOTS }, (_, slot) => work(slot)))
  const counts = Object.groupBy(outcomes.values(), (one) => one)
  t.comment(
    JSON.stringify(Object.fromEntries(Object.entries(counts).map(([name, { length }]) => [name, length]))),
  )
  t.ok(
    (counts['caught by a check']?.length ?? 0) >= LEAST_RENDERED,
    `at least ${LEAST_RENDERED} mutants render`,
  )
  for (const [{ file, line, before, after }, outcome] of outcomes)
    if (outcome === 'survived') t.fail(`survived: ${file}:${line}: ${before}  ->  ${after ?? '(removed)'}`)
})

/** Renders a mutant until a check fails. Starts with the check that is most likely to fail. */
async function judge(
  { message, text }: Pick<Mutant, 'message' | 'text'>,
  chart: string,
  { scenarios, kubeconfig }: Setting,
): Promise<Outcome> {
  const hinted = VALUE_ERRORS.filter(({ says }) => message !== undefined && isFormatOf(message, says))
  if (await losesError(hinted, chart)) return 'caught by a check'
  for (const [index, one] of scenarios.entries()) {
    const objects = await renderTo(chart, one.scenario.release, '--values', one.file)
    if (objects !== undefined && findLostValues(one.scenario, objects).length === 0) continue
    // The scenario that finds a mutant often finds the mutants of the next lines.
    scenarios.unshift(...scenarios.splice(index, 1))
    return objects === undefined ? 'does not render' : 'caught by a check'
  }
  if (text.includes('scopegate.keptSecret')) {
    const objects = await renderTo(chart, 'gw', '--dry-run=server', '--kubeconfig', kubeconfig)
    const found = objects?.find(({ metadata }) => metadata.name === KEPT.metadata.name)
    if (!isDeepStrictEqual(found?.data, KEPT.data)) return 'caught by a check'
  }
  if (!/\bfail\b/.test(text)) return 'survived'
  const others = VALUE_ERRORS.filter((one) => !hinted.includes(one))
  return (await losesError(others, chart)) ? 'caught by a check' : 'survived'
}

/** Renders a chart. Returns undefined when helm failed, or did not write YAML objects. */
async function renderTo(
  chart: string,
  release: string | undefined,
  ...args: readonly string[]
): Promise<readonly KubeObject[] | undefined> {
  const { output, failed } = await template(chart, release, ...args)
  if (failed !== undefined) return undefined
  try {
    return parseObjects(output)
  } catch {
    return undefined
  }
}

/** Returns whether the error message `says` has the format `message`. The format can contain `%s`. */
function isFormatOf(message: string, says: string): boolean {
  return message.split(/%[a-z]/).every((part) => says.includes(part))
}

async function losesError(errors: typeof VALUE_ERRORS, chart: string): Promise<boolean> {
  for (const { set, says } of errors) {
    const { failed } = await template(chart, 'gw', ...set.flatMap((one) => ['--set', one]))
    if (failed?.includes(`: ${says}\n`) !== true) return true
  }
  return false
}

async function template(
  chart: string,
  release = 'gw',
  ...args: readonly string[]
): Promise<{ output: string; failed?: string }> {
  try {
    const { stdout } = await promisify(execFile)(
      process.env['SCOPEGATE_HELM'] ?? 'helm',
      ['template', release, chart, '--namespace', 'shop', ...args],
      { env: HELM_ENVIRONMENT, maxBuffer: 64 * 1024 * 1024 },
    )
    return { output: stdout }
  } catch (error) {
    return {
      output: '',
      failed: error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error),
    }
  }
}
