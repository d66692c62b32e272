import { posix } from 'node:path'
import t from 'tap'
import { ALERTS, RULE_FILES, readRules } from '../fixtures/alert-rules.ts'
import { findMetricUses, metricOfSeries, readMetricLabels } from '../fixtures/metric-uses.ts'

t.test('rules use only metrics and labels that exist', async (t) => {
  const known = readMetricLabels()
  for (const { name, labels } of RULE_FILES.flatMap(readRules).flatMap(({ expr }) => findMetricUses(expr))) {
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

t.test('each alert has a prefix, a severity, texts and the address of its runbook', async (t) => {
  for (const { alert, labels, annotations } of ALERTS) {
    t.match(alert, /^Scopegate[A-Z]/)
    t.match(labels['severity'], /^(?:critical|warning)$/, alert)
    t.match(annotations, { summary: /./, description: /./ }, alert)
    t.equal(annotations['runbook_url'], posix.join('docs', 'runbooks', `${alert}.md`))
  }
})
