import t from 'tap'
import { GAUGE_RULES } from '../../gateway/cluster/aggregate-workers.ts'
import { readDocumentedMetrics, readMetricLabels } from '../fixtures/metric-uses.ts'
import { listRepositoryFiles, readRepositoryFile } from '../fixtures/repository-texts.ts'

/**
 * A metric name in its definition: the property `name`, or the first argument of a function. Names of cookies do not
 * match, because they are in other properties.
 */
const DEFINED = /(?:name: |\(\s*)'(scopegate_[a-z0-9_]+)'/g

t.test('docs/metrics.md lists exactly the series of both services and of the canary', async (t) => {
  const sources = listRepositoryFiles().filter((path) =>
    /^(?:gateway|authorization-server|platform|cli\/commands\/canary)\/.*\.ts$/.test(path),
  )
  const defined = sources.flatMap((path) =>
    [...readRepositoryFile(path).matchAll(DEFINED)].map(([, name]) => name),
  )
  const listed = [...readDocumentedMetrics().keys()]
  t.same(listed.toSorted(), [...new Set(defined)].toSorted())
})

t.test('docs/metrics.md lists the labels of each metric', async (t) => {
  const known = readMetricLabels()
  for (const [name, labels] of readDocumentedMetrics())
    t.same(labels, [...(known.get(name) ?? [])].toSorted(), name)
})

t.test('docs/metrics.md lists the merged value of each gauge of several workers', async (t) => {
  const [, section = ''] = readRepositoryFile('docs/metrics.md').split('\n## Several workers\n')
  const words = { sum: 'sum over all running', min: 'minimum', max: 'maximum', first: 'first value' }
  for (const [rule, text] of Object.entries(words)) {
    const [row = ''] = section.match(new RegExp(`^\\| ${text}.*$`, 'm')) ?? []
    const listed = [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name)
    // The authorization server has only one process.
    const gauges = Object.keys(GAUGE_RULES).filter(
      (name) => GAUGE_RULES[name] === rule && !name.startsWith('scopegate_oauth_'),
    )
    t.same(listed.toSorted(), gauges.toSorted(), rule)
  }
})
