import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { type Rendered, type Rendering, startChartRenderer } from './chart-renderer.ts'
import type { KubeObject } from './kube-object.ts'
import { NOTES_CASES } from './notes-cases.ts'
import { CHART, HELM_ENVIRONMENT, parseObjects } from './render-chart.ts'
import { startCluster } from './start-cluster.ts'
import { readTemplateGraph } from './template-graph.ts'
import {
  failAtLine,
  findLinesWithoutMutant,
  type Mutant,
  makeTemplateMutants,
  PROBE,
} from './template-mutants.ts'
import { KEY_ERRORS, VALUE_ERRORS } from './value-errors.ts'
import type { Scenario } from './value-scenarios/scenario.ts'
import { findLostValues, SCENARIOS } from './value-scenarios.ts'

/** Minimum number of rendered mutants. A smaller number means that the generator of mutants misses lines. */
const LEAST_RENDERED = 60

/** A Secret that an earlier installation generated. */
const KEPT: KubeObject = {
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gw-scopegate-cookie-keys' } },
  data: { 'cookie-keys': Buffer.from('kept').toString('base64') },
}

/** A scenario, the file with its values, and the output of the unchanged chart. */
type RenderedScenario = { readonly scenario: Scenario; readonly file: string; readonly output: string }
/** The scenarios in the order of their checks, and a renderer with access to a cluster that contains KEPT. */
type Setting = {
  readonly scenarios: RenderedScenario[]
  readonly render: ReturnType<typeof startChartRenderer>
  /** For files of this test. */
  readonly folder: string
}
/** Changes no template. The text makes {@link judge} run all checks. */
const UNCHANGED = { file: '', line: 0, before: '', message: undefined, text: 'scopegate.keptSecret fail' }
const NOTES = 'NOTES.txt'
const KEYS = '_keys.tpl'
const ERRORS = [...VALUE_ERRORS, ...KEY_ERRORS]
const filesAffectedBy = readTemplateGraph(CHART)
/** All mutants take about four minutes of both processors, so only `npm run soak:chart` judges all of them. */
const ALL_MUTANTS = process.env['CHART_MUTANTS'] === 'all'
const ONE_OF = 12
type Outcome = 'survived' | 'does not render' | 'caught by a check'

t.test('at least one mutant changes each line of the templates', async (t) => {
  for (const line of findLinesWithoutMutant(CHART, makeTemplateMutants(CHART)))
    t.fail(
      `${line}: no mutant. Add a change for this form of line to changesOf() in test/helm/template-mutants.ts.`,
    )
})

t.test('NOTES.txt contains the expected paragraphs', async (t) => {
  const render = startChartRenderer(t, '/nonexistent')
  for (const { name, set, paragraphs } of NOTES_CASES) {
    const { output, failed } = await render({ release: 'gw', set, notes: true })
    t.equal(failed ?? output.trim(), paragraphs.join('\n\n'), name)
    t.equal((await render({ release: 'gw', set })).failed, undefined, `${name}: the values are valid`)
  }
})

t.test('at least one check fails for each mutant of a template', async (t) => {
  const all = [...makeTemplateMutants(CHART)]
  const mutants = ALL_MUTANTS ? all : all.filter((_, index) => index % ONE_OF === 0)
  const folder = t.testdir()
  const { kubeconfig } = await startCluster(t, [KEPT])
  const render = startChartRenderer(t, kubeconfig)
  const scenarios: RenderedScenario[] = []
  for (const [index, scenario] of SCENARIOS.entries()) {
    const file = join(folder, `${index}.json`)
    writeFileSync(file, JSON.stringify(scenario.values))
    const { output } = await render(renderingOf({ scenario, file }))
    t.same(findLostValues(scenario, parseObjects(output)), [], scenario.name)
    scenarios.push({ scenario, file, output })
  }
  t.equal(
    await judge(UNCHANGED, { scenarios, render, folder }),
    'survived',
    'the chart itself passes every check',
  )
  const outcomes = new Map<Mutant, Outcome>()
  const queue = mutants.values()
  const work = async (setting: Setting): Promise<void> => {
    for (const mutant of queue) outcomes.set(mutant, await judge(mutant, setting))
  }
  const other = { scenarios: [...scenarios], render: startChartRenderer(t, kubeconfig), folder }
  await Promise.all([{ scenarios, render, folder }, other].map(work))
  const counts = Object.groupBy(outcomes.values(), (one) => one)
  t.comment(
    JSON.stringify(Object.fromEntries(Object.entries(counts).map(([name, { length }]) => [name, length]))),
  )
  t.ok(
    (counts['caught by a check']?.length ?? 0) >= LEAST_RENDERED,
    `at least ${LEAST_RENDERED} mutants render`,
  )
  for (const [mutant, outcome] of outcomes)
    if (outcome === 'survived') t.fail(await reportSurvivor(mutant, { scenarios, render, folder }))
})

/** Returns the place of the mutant, its change, and the values that render its line. */
async function reportSurvivor(mutant: Mutant, { scenarios, render }: Setting): Promise<string> {
  const { file, line, before, after } = mutant
  const probe = { template: `templates/${file}`, text: failAtLine(CHART, mutant) }
  const notes = file === NOTES
  const renderings = notes
    ? NOTES_CASES.map(({ name, set }) => ({ name, rendering: { release: 'gw', set, notes } }))
    : scenarios.map((one) => ({ name: one.scenario.name, rendering: renderingOf(one) }))
  const names: string[] = []
  for (const { name, rendering } of renderings) {
    const { failed } = await render({ ...rendering, ...probe })
    if (failed?.includes(PROBE) === true) names.push(name)
  }
  const change = `${before}  ->  ${after ?? '(removed)'}`
  const source = notes ? 'test/helm/notes-cases.ts' : 'test/helm/value-scenarios'
  const advice =
    names.length > 0
      ? `Add an assertion to one of these entries of ${source}: ${names.slice(0, 3).join(' | ')}`
      : `No entry of ${source} renders the line. Add an entry, or remove the line.`
  return `survived: helm/templates/${file}:${line}: ${change}\n${advice}`
}

/** Renders a mutant until a check fails. Starts with the check that is most likely to fail. */
async function judge(
  { file, line, before, message, text }: Pick<Mutant, 'file' | 'line' | 'before' | 'message' | 'text'>,
  { scenarios, render: renderAll, folder }: Setting,
): Promise<Outcome> {
  const files = file === NOTES || file === '' ? [] : filesAffectedBy(file, line)
  const only = files.map((one) => `templates/${one}`)
  const template = { template: `templates/${file}`, text }
  /** Renders only the affected files. The complete chart confirms each error. */
  const render = async (rendering: Rendering): Promise<Rendered> => {
    const part = await renderAll({ ...rendering, only })
    if (part.failed === undefined || only.length === 0) return part
    const whole = await renderAll(rendering)
    if (whole.failed === undefined)
      throw new Error(`${file}:${line}: only a part of the chart fails: ${part.failed}`)
    return whole
  }
  if (file === NOTES) {
    for (const { set, paragraphs } of NOTES_CASES) {
      const { output, failed } = await render({ ...template, release: 'gw', set, notes: true })
      if (failed !== undefined) return 'does not render'
      if (output.trim() !== paragraphs.join('\n\n')) return 'caught by a check'
    }
    return 'survived'
  }
  const losesError = async (errors: readonly (typeof ERRORS)[number][]): Promise<boolean> => {
    for (const { set, kubeVersion, says } of errors) {
      const rendering = { ...template, release: 'gw', set, kubeVersion }
      if ((await renderAll({ ...rendering, only })).failed?.endsWith(`: ${says}`) === true) continue
      if ((await renderAll(rendering)).failed?.endsWith(`: ${says}`) !== true) return true
    }
    return false
  }

  const hinted =
    file === KEYS
      ? KEY_ERRORS
      : ERRORS.filter(({ says }) => message !== undefined && isFormatOf(message, says))
  if (await losesError(hinted)) return 'caught by a check'
  const reads = ({ scenario }: RenderedScenario) =>
    scenario.checks.some(([values]) => values.split(', ').some((one) => before.includes(`.Values.${one}`)))
  const priority = (one: RenderedScenario) =>
    Number(reads(one)) + Number(one.output.includes(`/templates/${file}\n`))
  for (const one of scenarios.toSorted((a, b) => priority(b) - priority(a))) {
    const rendered = await render({ ...template, ...renderingOf(one) })
    const { affected, rest } = divideOutput(one.output, files)
    if (rendered.output === affected) continue
    const objects = objectsOf({ ...rendered, output: rest + rendered.output })
    if (objects !== undefined && findLostValues(one.scenario, objects).length === 0) continue
    // The scenario that finds a mutant often finds the mutants of the next lines.
    scenarios.unshift(...scenarios.splice(scenarios.indexOf(one), 1))
    return objects === undefined ? 'does not render' : 'caught by a check'
  }
  if (text.includes('scopegate.keptSecret')) {
    const objects = objectsOf(await renderAll({ ...template, release: 'gw', cluster: true }))
    const found = objects?.find(({ metadata }) => metadata.name === KEPT.metadata.name)
    if (!isDeepStrictEqual(found?.data, KEPT.data)) return 'caught by a check'
  }
  // A run of one suite takes less time than the renderings of all errors.
  const [recent, ...suites] = SUITES
  if (!(await passesSuites([recent ?? ''], { file, text }, folder))) return 'caught by a check'
  if (/\bfail\b/.test(text) && (await losesError(ERRORS.filter((one) => !hinted.includes(one)))))
    return 'caught by a check'
  return (await passesSuites(suites, { file, text }, folder)) ? 'survived' : 'caught by a check'
}

/** The suites of helm/tests in the order of their runs. */
const SUITES = readdirSync(join(CHART, 'tests')).filter((file) => file.endsWith('_test.yaml'))

/** Runs the suites in a copy of the chart with the changed template. */
async function passesSuites(
  suites: readonly string[],
  { file, text }: Pick<Mutant, 'file' | 'text'>,
  folder: string,
): Promise<boolean> {
  const program = process.env['SCOPEGATE_HELM_UNITTEST']
  if (program === undefined)
    throw new Error('SCOPEGATE_HELM_UNITTEST is not set: run the checks with `node scripts/check-chart.js`')
  const chart = mkdtempSync(join(folder, 'chart-'))
  cpSync(CHART, chart, { recursive: true })
  if (file !== '') writeFileSync(join(chart, 'templates', file), text)
  for (const suite of suites) {
    const args = ['--strict', '--failfast', '--file', join('tests', suite), chart]
    const [status] = await once(spawn(program, args, { env: HELM_ENVIRONMENT, stdio: 'ignore' }), 'exit')
    if (status === 0) continue
    // The suite that finds a mutant often finds the mutants of the next lines.
    SUITES.unshift(...SUITES.splice(SUITES.indexOf(suite), 1))
    return false
  }
  return true
}

/** Returns the documents of the affected files, and all other documents. */
function divideOutput(output: string, files: readonly string[]): { affected: string; rest: string } {
  if (files.length === 0) return { affected: output, rest: '' }
  const { affected = [], rest = [] } = Object.groupBy(output.split(/^(?=---\n# Source: )/m), (text) =>
    files.some((file) => text.startsWith(`---\n# Source: scopegate/templates/${file}\n`))
      ? 'affected'
      : 'rest',
  )
  return { affected: affected.join(''), rest: rest.join('') }
}

function renderingOf({ scenario, file }: Pick<RenderedScenario, 'scenario' | 'file'>): Rendering {
  return { release: scenario.release ?? 'gw', valueFiles: [file] }
}

/** The objects of each parsed document. A mutant changes few documents. */
const parsed = new Map<string, readonly KubeObject[]>()

/** Returns undefined if helm failed, or if the output contains no YAML objects. */
function objectsOf({ output, failed }: Rendered): readonly KubeObject[] | undefined {
  if (failed !== undefined) return undefined
  try {
    return output.split(/^---$/m).flatMap((document) => {
      const objects = parsed.get(document) ?? parseObjects(document)
      parsed.set(document, objects)
      return objects
    })
  } catch {
    return undefined
  }
}

/** Returns whether the error message `says` matches the format string `message`. */
function isFormatOf(message: string, says: string): boolean {
  return message.split(/%[a-z]/).every((part) => says.includes(part))
}
