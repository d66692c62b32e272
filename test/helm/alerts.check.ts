import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  ALERTS,
  type AlertRule,
  type RecordingRule,
  RULE_FILES,
  type Rule,
  readAlerts,
  readRules,
} from '../fixtures/alert-rules.ts'
import { DASHBOARDS, panelExpressions } from '../fixtures/dashboards.ts'
import { findMetricUses, metricOfSeries, readMetricLabels } from '../fixtures/metric-uses.ts'
import { ALERT_CASES, type AlertCase, type Firing, labelsOf, withTarget } from './alert-cases.ts'
import { makeAlertMutants } from './alert-mutants.ts'
import { ROOT } from './render-chart.ts'

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
const PROMTOOL = process.env['SCOPEGATE_PROMTOOL'] ?? 'promtool'

/** Runs the real promtool in the root of the repository. */
function promtool(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES } as const
  const { status, stdout, stderr, error } = spawnSync(PROMTOOL, args, options)
  if (error !== undefined) throw error
  return { status, output: `${stdout}${stderr}` }
}

t.test('promtool accepts the alert rules', async (t) => {
  const { status, output } = promtool('check', 'rules', '--lint-fatal', ...RULE_FILES)
  t.equal(status, 0, output)
})

t.test('promtool parses the expressions of the dashboards', async (t) => {
  const expressions = DASHBOARDS.flatMap(({ dashboard }) => panelExpressions(dashboard))
  const rules = expressions.map((expr, index) => ({
    record: `expression:${index}`,
    expr: expr.replace(/\$__(?:rate_interval|range)/g, '5m'),
  }))
  const file = join(t.testdir(), 'expressions.json')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }))
  const { status, output } = promtool('check', 'rules', file)
  t.equal(status, 0, output)
})

/** The alerts with the recording rules that they use. */
const USES = RULE_FILES.flatMap((file) => {
  const rules = readRules(file)
  return readAlerts(file).map((alert) => ({
    alert,
    records: rules.filter((rule) => 'record' in rule && alert.expr.includes(rule.record)) as RecordingRule[],
  }))
})

t.test('each alert fires with its annotations exactly during its fault, and not otherwise', async (t) => {
  t.same(Object.keys(ALERT_CASES).toSorted(), ALERTS.map(({ alert }) => alert).toSorted())
  const folder = t.testdir()
  const files = USES.flatMap(({ alert, records }) =>
    writeTests(folder, { alert, rules: [...records, alert], names: [alert.alert] }),
  )
  const { status, output } = promtool('test', 'rules', ...files)
  t.equal(status, 0, output)
})

t.test('at least one case of an alert fails for each mutant of a rule', async (t) => {
  const folder = t.testdir()
  const all = USES.map((use) => ({ ...use, mutants: makeAlertMutants(use.alert, use.records) }))
  const survivors = new Set(all.flatMap(({ mutants }) => mutants.map(({ change }) => change)))
  t.comment(`${survivors.size} mutants`)
  const runTest = (test: number): string => {
    const left = all.flatMap(({ alert, records, mutants }) => {
      const alive = mutants.filter(({ change }) => survivors.has(change))
      return alive.length === 0 ? [] : [{ alert, records, mutants: alive }]
    })
    const files = left.flatMap(({ alert, records, mutants }) =>
      writeTests(folder, {
        ...{ alert, rules: [...records, ...mutants.flatMap(({ rules }) => rules)] },
        names: mutants.map(({ name }) => name),
        test,
      }),
    )
    const { output } = files.length === 0 ? { output: '' } : promtool('test', 'rules', ...files)
    t.notMatch(output, 'could not parse', 'each mutant is a valid rule')
    const failed = new Set(output.match(/\bScopegate[A-Za-z0-9]+_\d+\b/g))
    for (const { mutants } of left)
      for (const { name, change } of mutants) if (failed.has(name)) survivors.delete(change)
    return output
  }
  // Most mutants fail in the first test of their alert, so each round runs only one test of each alert.
  for (let test = 0; test < Math.max(...all.map((use) => testsOf({ ...use, names: [] }).length)); test += 1) {
    let before: number
    do {
      before = survivors.size
      // A mutant whose evaluation fails ends the test. The next round repeats this test without the mutant.
      if (!runTest(test).includes('err: ')) break
    } while (survivors.size < before)
  }
  for (const change of survivors) t.fail(`survived: ${change}`)
})

/** Tests of `promtool test rules`, with the interval of their evaluations. Minutes. */
type RuleTest = { readonly interval: number; readonly test: object }

/** An alert, and the names of the rules that must fire like it. */
type Tested = { readonly alert: AlertRule; readonly names: readonly string[] }

/**
 * Writes the rules, and the tests of an alert: one file for each interval of evaluations.
 * @param test index of the only test to write. Default: all tests.
 * @returns the files of the tests.
 */
function writeTests(
  folder: string,
  { rules, test, ...tested }: Tested & { readonly rules: readonly Rule[]; readonly test?: number },
): readonly string[] {
  const { alert } = tested.alert
  const rulesFile = join(folder, `${alert}.rules.json`)
  writeFileSync(rulesFile, JSON.stringify({ groups: [{ name: alert, rules }] }))
  const tests = testsOf(tested)
  const chosen = test === undefined ? tests : tests.slice(test, test + 1)
  return [...Map.groupBy(chosen, ({ interval }) => interval)].map(([interval, group]) => {
    const file = join(folder, `${alert}.${interval}m.json`)
    writeFileSync(
      file,
      JSON.stringify({
        rule_files: [rulesFile],
        evaluation_interval: `${interval}m`,
        tests: group.map((one) => one.test),
      }),
    )
    return file
  })
}

/** Returns the tests of an alert: one test for each series of its case. */
function testsOf({ alert, names }: Tested): readonly RuleTest[] {
  const one = ALERT_CASES[alert.alert]
  if (one === undefined) return []
  /** Asserts the number of evaluations at which the alert has fired until a time. */
  const fired = (name: string, minutes: number, times: number) => ({
    expr: `sum(count_over_time(ALERTS{alertname="${name}",alertstate="firing"}[30d]))`,
    eval_time: `${minutes}m`,
    exp_samples: times === 0 ? [] : [{ labels: '{}', value: times }],
  })
  const expected = (alertname: string) => ({
    ...{ eval_time: `${one.at ?? 15}m`, alertname },
    exp_alerts: [expectedAlert(alert, one)],
  })
  const firing = one.firing.map(({ series, from, to, interval = 1 }, index) => ({
    interval,
    test: {
      ...inputOf(series, interval),
      promql_expr_test: names.flatMap((name) => [
        fired(name, from - interval, 0),
        fired(name, to, (to - from) / interval + 1),
        fired(name, to + interval, (to - from) / interval + 1),
      ]),
      alert_rule_test: index === 0 ? names.map(expected) : [],
    },
  }))
  const quiet = one.quiet.map((series) => ({
    interval: 1,
    test: { ...inputOf(series, 1), promql_expr_test: names.map((name) => fired(name, 60, 0)) },
  }))
  return [...firing, ...quiet]
}

const inputOf = (series: Firing['series'], interval: number) => ({
  interval: `${interval}m`,
  input_series: Object.entries(series).map(([name, values]) => ({ series: withTarget(name), values })),
})

function expectedAlert({ labels, annotations }: AlertRule, one: AlertCase) {
  const values: Readonly<Record<string, string | undefined>> = labelsOf(one)
  const rendered = Object.entries(annotations).map(([name, text]) => [
    name,
    text
      .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => values[label] ?? `no label ${label}`)
      .replace(/\{\{ \$value[^}]*\}\}/g, () => one.value ?? 'no value'),
  ])
  return { exp_labels: { ...values, ...labels }, exp_annotations: Object.fromEntries(rendered) }
}

t.test('the series of the cases have the labels of the metrics', async (t) => {
  const known = readMetricLabels()
  const target = ['namespace', 'job', 'instance', 'le']
  const series = Object.values(ALERT_CASES).flatMap(({ firing, quiet }) =>
    [...firing.map(({ series }) => series), ...quiet].flatMap(Object.keys),
  )
  for (const { name, labels } of series.flatMap(findMetricUses)) {
    const of = known.get(metricOfSeries(name, (one) => known.has(one)))
    t.same(
      labels.filter((label) => !target.includes(label) && !of?.has(label)),
      [],
      name,
    )
  }
})
