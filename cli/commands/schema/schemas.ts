import { AuthorizationServerFile } from '../../../authorization-server/authorization-server-file.ts'
import { GatewayFile } from '../../../gateway/config/gateway-file.ts'
import { PolicySourceSchema } from '../../../gateway/config/policy-source-schema.ts'
import { FILE_DEFAULTS } from '../../../gateway/config/read-gateway-file.ts'
import { UpstreamsFile } from '../../../gateway/config/upstreams-file.ts'
import { ScopeCatalogueFile } from '../../../platform/config/read-scope-catalogue.ts'
import { type EditorSchema, editorSchema } from '../../../platform/diagnostics/schema/editor-schema.ts'
import { policySchema } from '../../../policy-engine/format/policy-schema.ts'
import { PresetsFile } from '../../../policy-engine/format/presets.ts'

/** A file may omit the keys with a default, so that editors do not report them as missing. */
const GATEWAY = {
  ...GatewayFile,
  required: GatewayFile.required.filter((key) => !(key in FILE_DEFAULTS)),
}

const POLICY_SOURCES = {
  type: 'array',
  items: PolicySourceSchema,
  description: 'The value of the key policySources of gateway.yaml.',
}

/** The JSON Schema of each kind of file. `policySources` is the list in gateway.yaml. */
export const SCHEMAS: ReadonlyMap<string, EditorSchema> = new Map([
  ['Policy', policySchema('Policy')],
  ['PolicyTest', policySchema('PolicyTest')],
  ['gateway', editorSchema(GATEWAY, { name: 'gateway', title: 'gateway.yaml' })],
  ['upstreams', editorSchema(UpstreamsFile, { name: 'upstreams', title: 'upstreams.yaml' })],
  ['scopes', editorSchema(ScopeCatalogueFile, { name: 'scopes', title: 'scopes.yaml' })],
  ['presets', editorSchema(PresetsFile, { name: 'presets', title: 'presets.yaml' })],
  [
    'authorization-server',
    editorSchema(AuthorizationServerFile, {
      name: 'authorization-server',
      title: 'authorization-server.yaml',
    }),
  ],
  ['policySources', editorSchema(POLICY_SOURCES, { name: 'policy-sources', title: 'policySources' })],
])

/** Returns the text of each schema file by its path. The first line of a configuration file or policy names its file. */
export function schemaFiles(): ReadonlyMap<string, string> {
  return new Map(
    [...SCHEMAS.values()].map((schema) => [
      `schemas/${String(schema['$id']).split('/').at(-1)}`,
      `${JSON.stringify(schema, undefined, 2)}\n`,
    ]),
  )
}
