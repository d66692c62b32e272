import { posix } from 'node:path'
import t from 'tap'
import { ALERTS, RULE_FILES, readRules } from '../fixtures/alert-rules.ts'
import { DASHBOARDS, panelExpressions, variableQueries } from '../fixtures/dashboards.ts'
import { findMetricUses, metricOfSeries, readMetricLabels } from '../fixtures/metric-uses.ts'
import { listRepositoryFiles, readRepositoryFile } from '../fixtures/repository-texts.ts'

/** Prometheus adds these labels to each series. */
const TARGET_LABELS = ['namespace', 'job', 'instance', 'le']
const RUNBOOKS = listRepositoryFiles('docs/runbooks').filter((path) => !path.endsWith('/README.md'))

t.test('rules, runbooks and dashboards use only metrics and labels that exist', async (t) => {
  const known = readMetricLabels()
  const texts = [
    ...RULE_FILES.flatMap(readRules).map(({ expr }) => expr),
    ...RUNBOOKS.map(readRepositoryFile),
    ...DASHBOARDS.flatMap(({ dashboard }) => [...panelExpressions(dashboard), ...variableQueries(dashboard)]),
  ]
  for (const { name, labels } of texts.flatMap(findMetricUses)) {
    if (!name.startsWith('scopegate_')) continue
    const of = known.get(metricOfSeries(name, (one) => known.has(one)))
    t.ok(of, name)
    t.same(
      labels.filter((label) => !TARGET_LABELS.includes(label) && !of?.has(label)),
      [],
      `labels of ${name}`,
    )
  }
})

t.test('each dashboard selects the data source and the targets with variables', async (t) => {
  t.equal(new Set(DASHBOARDS.map(({ dashboard }) => dashboard.uid)).size, 3)
  for (const { path, dashboard } of DASHBOARDS) {
    const { panels, schemaVersion, templating } = dashboard
    t.ok(schemaVersion >= 39, path)
    const variables = templating.list.map(({ name }) => name)
    t.match(variables, ['datasource', 'namespace', 'job', 'instance'], path)
    for (const { datasource } of [...panels, ...templating.list])
      if (datasource !== undefined) t.same(datasource, { type: 'prometheus', uid: `\${datasource}` }, path)
    t.equal(new Set(panels.map(({ id }) => id)).size, panels.length, path)
    for (const expr of panelExpressions(dashboard)) {
      t.match(expr, 'namespace=~"$namespace",job=~"$job",instance=~"$instance"', path)
      for (const [, name = ''] of expr.matchAll(/\$(\w+)/g))
        t.ok([...variables, '__rate_interval', '__range'].includes(name), `${path}: $${name}`)
    }
  }
})

t.test('each panel of a dashboard has a title, a description and a unit', async (t) => {
  for (const { path, dashboard } of DASHBOARDS)
    for (const { title, description, fieldConfig } of dashboard.panels) {
      t.match(title, /\S/, path)
      t.match(description, /^\S.*\.$/, `${path}: description of ${title}`)
      t.match(fieldConfig.defaults.unit, /^\w+$/, `${path}: unit of ${title}`)
    }
})

t.test('each alert has a runbook, and each runbook has an alert', async (t) => {
  const wanted = ALERTS.map(({ alert }) => `docs/runbooks/${alert}.md`)
  t.same(RUNBOOKS.toSorted(), wanted.toSorted())
  for (const path of RUNBOOKS) {
    const page = readRepositoryFile(path)
    const name = posix.basename(path, '.md')
    const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)
    t.same(headings, [name, 'Impact', 'Check', 'Remedy', 'Silence'], path)
    t.match(page, `amtool silence add alertname=${name} `)
  }
})

t.test('each alert has a prefix, a severity, texts and the address of its runbook', async (t) => {
  for (const { alert, labels, annotations } of ALERTS) {
    t.match(alert, /^Scopegate[A-Z]/)
    t.match(labels['severity'], /^(?:critical|warning)$/, alert)
    t.match(annotations, { summary: /./, description: /./ }, alert)
    t.equal(annotations['runbook_url'], posix.join('docs', 'runbooks', `${alert}.md`))
  }
})
