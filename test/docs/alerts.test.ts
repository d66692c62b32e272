import { posix } from 'node:path'
import t from 'tap'
import { ALERTS, RULE_FILES, readRules } from '../fixtures/alert-rules.ts'
import { findMetricUses, metricOfSeries, readMetricLabels } from '../fixtures/metric-uses.ts'
import { listRepositoryFiles, readRepositoryFile } from '../fixtures/repository-texts.ts'

const RUNBOOKS = listRepositoryFiles('docs/runbooks').filter((path) => !path.endsWith('/README.md'))

t.test('rules and runbooks use only metrics and labels that exist', async (t) => {
  const known = readMetricLabels()
  const expressions = RULE_FILES.flatMap(readRules).map(({ expr }) => expr)
  for (const { name, labels } of [...expressions, ...RUNBOOKS.map(readRepositoryFile)].flatMap(
    findMetricUses,
  )) {
    if (!name.startsWith('scopegate_')) continue
    const of = known.get(metricOfSeries(name, (one) => known.has(one)))
    t.ok(of, name)
    t.same(
      labels.filter((label) => label !== 'le' && !of?.has(label)),
      [],
      `labels of ${name}`,
    )
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
