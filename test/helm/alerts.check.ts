import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { ALERTS, type AlertRule, RULE_FILES, readAlerts } from '../fixtures/alert-rules.ts'
import { DASHBOARDS, panelExpressions } from '../fixtures/dashboards.ts'
import { findMetricUses, metricOfSeries, readMetricLabels } from '../fixtures/metric-uses.ts'
import { ALERT_CASES, type AlertCase, labelsOf, withTarget } from './alert-cases.ts'
import { ROOT } from './render-chart.ts'

/** Runs the real promtool in the root of the repository. */
function promtool(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const command = process.env['SCOPEGATE_PROMTOOL'] ?? 'promtool'
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: ROOT, encoding: 'utf8' })
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

t.test('each alert fires with its annotations at its fault, and not below its threshold', async (t) => {
  t.same(Object.keys(ALERT_CASES).toSorted(), ALERTS.map(({ alert }) => alert).toSorted())
  const folder = t.testdir()
  for (const rules of RULE_FILES) {
    for (const interval of ['1m', '30m']) {
      const tests = readAlerts(rules).flatMap((rule) => casesOf(rule, interval))
      const file = join(folder, `${basename(rules)}.${interval}.json`)
      const rule_files = [join(ROOT, rules)]
      writeFileSync(file, JSON.stringify({ rule_files, evaluation_interval: interval, tests }))
      const { status, output } = promtool('test', 'rules', file)
      t.equal(status, 0, output)
    }
  }
})

/** Returns two tests of `promtool test rules`, or no test if the case has another interval. */
function casesOf(rule: AlertRule, interval: string) {
  const one = ALERT_CASES[rule.alert]
  if (one === undefined || (one.interval ?? '1m') !== interval) return []
  const input = (series: AlertCase['firing']) => ({
    interval,
    input_series: Object.entries(series).map(([name, values]) => ({ series: withTarget(name), values })),
  })
  const at = { eval_time: one.at ?? '15m', alertname: rule.alert }
  return [
    { ...input(one.firing), alert_rule_test: [{ ...at, exp_alerts: [expectedAlert(rule, one)] }] },
    { ...input(one.quiet), alert_rule_test: [{ ...at, exp_alerts: [] }] },
  ]
}

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
    Object.keys({ ...firing, ...quiet }),
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
