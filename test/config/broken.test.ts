import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AuthorizationServerFile } from '../../authorization-server/authorization-server-file.ts'
import { GatewayFile } from '../../gateway/config/gateway-file.ts'
import { UpstreamsFile } from '../../gateway/config/upstreams-file.ts'
import { readConfig } from '../../platform/config/read-config.ts'
import { readScopeCatalogue } from '../../platform/config/read-scope-catalogue.ts'
import type { Diagnostic } from '../../platform/diagnostics/diagnostic.ts'
import { readPresets } from '../../policy-engine/format/presets.ts'
import stableNames from '../docs/stable-names.json' with { type: 'json' }
import { describe, readExpectations } from '../fixtures/broken-policies.ts'
import { belongsTo, pathsByLocation } from '../fixtures/schema-paths.ts'

const BROKEN = join(import.meta.dirname, 'broken')
/** The function that reads each configuration file. */
const READ: Readonly<Record<string, (file: string) => unknown>> = {
  'gateway.yaml': (file) => readConfig({ file, schema: GatewayFile, env: {} }),
  'upstreams.yaml': (file) => readConfig({ file, schema: UpstreamsFile, env: {} }),
  'authorization-server.yaml': (file) => readConfig({ file, schema: AuthorizationServerFile, env: {} }),
  'scopes.yaml': (file) => readScopeCatalogue({ file }),
  'presets.yaml': (file) => readPresets(file),
}

/** The paths with a diagnostic, as `file: path`. */
const found: string[] = []

for (const name of readdirSync(BROKEN).filter((name) => name.endsWith('.yaml')))
  t.test(`${name} causes exactly the expected diagnostics`, async (t) => {
    const file = join(BROKEN, name)
    const kind = name.slice(name.indexOf('.') + 1)
    const diagnostics = diagnosticsOf(() => READ[kind]?.(file))
    t.same(describe(diagnostics), readExpectations(file))
    const paths = pathsByLocation(file)
    for (const { location } of diagnostics)
      found.push(`${kind}: ${paths.get(`${location.line}:${location.column}`)}`)
  })

t.test('every key of a configuration file has a file with a wrong value of this key', async (t) => {
  const keys = stableNames['Keys of configuration files'].filter((name) => !name.includes(' = '))
  t.ok(keys.length >= 300)
  t.same(
    keys.filter((key) => !found.some((path) => belongsTo(path, key))),
    [],
  )
})

function diagnosticsOf(read: () => unknown): readonly Diagnostic[] {
  try {
    read()
    return []
  } catch (error) {
    return (error as { diagnostics: readonly Diagnostic[] }).diagnostics
  }
}
