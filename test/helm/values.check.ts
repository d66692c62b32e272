import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { startChartRenderer, startObjectRenderer } from './chart-renderer.ts'
import { CHART } from './render-chart.ts'
import { findLostValues, SCENARIOS } from './value-scenarios.ts'

/** These values render no field. chart.check.ts checks that helm reports an error. */
const ONLY_FAILS = ['enabled', 'global.gitops']

/** These values render most templates. */
const FEATURES = [
  ...['ingress.enabled=true', 'metrics.prometheusRule.enabled=true', 'metrics.podMonitor.enabled=true'],
  ...['canary.enabled=true', 'canary.path=/a', 'canary.scopes={openid}', 'networkPolicy.enabled=true'],
  ...['gateway.baseUrl=https://api.example.org', 'certificate.enabled=true', 'certificate.issuerRef.name=ca'],
  ...['autoscaling.enabled=true', 'decisions.enabled=true', 'gateway.trustedProxies={10.0.0.0/8}'],
  ...['git.url=ssh://git@git.example.org/a', 'git.existingSecret=own'].map(
    (key) => `policies.sources[0].${key}`,
  ),
  ...['selector.label=policies', 'name=b', 'permissions.pathPrefixes={/b}'].map(
    (key) => `policies.sources[1].${key}`,
  ),
  ...['name=a', 'permissions.pathPrefixes={/a}'].map((key) => `policies.sources[0].${key}`),
]

t.test('each value reaches the objects that use it', async (t) => {
  const folder = t.testdir()
  const render = startObjectRenderer(t)
  for (const [index, scenario] of SCENARIOS.entries()) {
    const file = join(folder, `${index}.json`)
    writeFileSync(file, JSON.stringify(scenario.values))
    const objects = await render({ release: scenario.release ?? 'gw', valueFiles: [file] })
    for (const line of findLostValues(scenario, objects)) t.fail(line)
    t.ok(scenario.checks.length > 0, scenario.name)
  }
})

t.test('a scenario checks every value of values.yaml', async (t) => {
  const checked = SCENARIOS.flatMap(({ checks }) => checks.flatMap(([value]) => value.split(', ')))
  const all = new Set([...checked, ...ONLY_FAILS])
  const values: unknown = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8'))
  t.strictSame(findUnchecked(values, '', all), [])
  for (const path of all) t.ok(isPath(values, path.split('.')), `${path} is a value`)
})

t.test('the chart renders with a value that is null, or its message names the cause', async (t) => {
  const render = startChartRenderer(t, '/nonexistent')
  for (const path of pathsOf(parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')))) {
    const { failed, output } = await render({ release: 'gw', set: [...FEATURES, `${path}=null`] })
    t.match(failed ?? 'execution error at', /execution error at/, path)
    t.notMatch(output, /<nil>|u003cnil|%!/, path)
  }
})

function pathsOf(values: object, prefix = ''): readonly string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const path = `${prefix}${key.replaceAll('.', '\\.')}`
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? [path, ...pathsOf(value, `${path}.`)]
      : [path]
  })
}

/** Returns the keys of values.yaml that no scenario checks. A check of a map includes all keys of the map. */
function findUnchecked(value: unknown, path: string, checked: ReadonlySet<string>): readonly string[] {
  if (checked.has(path)) return []
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    return [path]
  return Object.entries(value).flatMap(([key, child]) =>
    findUnchecked(child, path === '' ? key : `${path}.${key}`, checked),
  )
}

function isPath(value: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true
  if (typeof value !== 'object' || value === null || !(key in value)) return false
  return isPath((value as Record<string, unknown>)[key], rest)
}
