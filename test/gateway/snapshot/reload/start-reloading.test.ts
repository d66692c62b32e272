import { watch as systemWatch } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startReloading } from '../../../../gateway/snapshot/reload/start-reloading.ts'
import { createLogger } from '../../../../platform/logging/logger.ts'
import { until } from '../../../fixtures/until.ts'

t.test('every policies folder is watched, nested ones too', async (t) => {
  const dir = t.testdir({ config: { 'scopes.yaml': '' }, policies: { one: {}, two: {}, '.hidden': {} } })
  const watched = new Set<string>()
  const end = startReloading(async () => undefined, {
    policiesDir: join(dir, 'policies'),
    scopesFile: join(dir, 'config', 'scopes.yaml'),
    presetsFile: join(dir, 'config', 'presets.yaml'),
    policyReload: 'watch',
    logger: createLogger({ level: 'info', service: 'test' }, { write: () => undefined }),
    watch(folder, how, listener) {
      watched.add(folder)
      return systemWatch(folder, how, listener)
    },
  })
  t.teardown(end)
  await until('the watches', async () => watched.size >= 4)
  t.same(
    [...watched].toSorted(),
    ['config', 'policies', 'policies/one', 'policies/two'].map((name) => join(dir, name)),
  )
})
