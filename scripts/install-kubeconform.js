// Builds kubeconform from its Go module, and creates JSON Schemas for it: of Kubernetes from the Python package
// kubernetes-validate, and of custom resources from Go modules that contain their definitions. Later runs reuse both.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { downloadPythonPackage, PIP_ADVICE } from './download-python-package.js'
import { downloadGoModule, GO_ADVICE, installGoTool } from './install-go-tool.js'
import { installTool } from './install-tool.js'

const KUBECONFORM = {
  ...{ module: 'github.com/yannh/kubeconform', version: 'v0.8.0' },
  ...{ name: 'kubeconform', main: './cmd/kubeconform' },
}

/** The newest Kubernetes versions of the package below. A newer package contains newer versions. */
export const KUBERNETES_VERSIONS = ['1.35.0', '1.36.0', '1.37.0']
const PACKAGE = {
  name: 'kubernetes-validate',
  version: '1.37.0',
  tag: 'py3-none-any',
  sha256: '85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9',
}

/** Go modules with definitions of custom resources. */
const CUSTOM_RESOURCES = [
  {
    ...{ module: 'github.com/prometheus-operator/prometheus-operator', version: 'v0.85.0' },
    ...{ folder: 'example/prometheus-operator-crd', prefix: 'monitoring.coreos.com_' },
    plurals: ['servicemonitors', 'podmonitors', 'prometheusrules'],
  },
  {
    // v1.7.0 requires Go 1.27.
    ...{ module: 'sigs.k8s.io/gateway-api', version: 'v1.6.3' },
    ...{ folder: 'config/crd/standard', prefix: 'gateway.networking.k8s.io_' },
    plurals: ['gateways', 'httproutes', 'grpcroutes', 'backendtlspolicies', 'referencegrants'],
  },
  {
    ...{ module: 'github.com/cert-manager/cert-manager', version: 'v1.21.2' },
    ...{ folder: 'deploy/crds', prefix: 'cert-manager.io_' },
    plurals: ['certificates', 'issuers', 'clusterissuers'],
  },
  {
    ...{ module: 'github.com/kedacore/keda/v2', version: 'v2.21.0' },
    ...{ folder: 'config/crd/bases', prefix: 'keda.sh_' },
    plurals: ['scaledobjects'],
  },
  {
    ...{ module: 'github.com/external-secrets/external-secrets', version: 'v1.3.2' },
    ...{ folder: 'config/crds/bases', prefix: 'external-secrets.io_' },
    plurals: ['externalsecrets'],
  },
]

/** Installs kubeconform. Returns the path of the executable. */
export function installKubeconform() {
  return installGoTool(KUBECONFORM)
}

/**
 * Downloads the schemas and writes one strict JSON Schema per version and kind:
 * `v<Kubernetes version>/<group>/<kind>_<API version>.json`. The schemas contain no reference to another file.
 * @returns the folder of the schemas.
 */
export function installKubeSchemas() {
  const version = createHash('sha256')
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest('hex')
    .slice(0, 16)
  return installTool({
    name: `kube-schemas-${PACKAGE.version}-${version}`,
    file: 'schemas',
    advice: `${PIP_ADVICE} ${GO_ADVICE}`,
    install: writeSchemas,
  })
}

function writeSchemas(folder) {
  const unpacked = join(folder, 'package')
  if (!downloadPythonPackage(unpacked, PACKAGE)) return false
  const source = join(unpacked, 'kubernetes_validate', 'kubernetes-json-schema')
  const crds = CUSTOM_RESOURCES.map((one) => ({ ...one, root: downloadGoModule(one)?.Dir }))
  if (crds.some(({ root }) => root === undefined)) return false
  for (const kubernetes of KUBERNETES_VERSIONS) {
    const definitions = JSON.parse(
      readFileSync(join(source, `v${kubernetes}-local-strict`, '_definitions.json'), 'utf8'),
      (key, value) => (key === 'description' && typeof value === 'string' ? undefined : value),
    ).$defs
    const target = join(folder, 'schemas', `v${kubernetes}`)
    writeKubernetesKinds(target, definitions)
    for (const crd of crds) writeCustomKinds(target, definitions, crd)
  }
  rmSync(unpacked, { recursive: true })
  return true
}

function writeKubernetesKinds(target, definitions) {
  for (const schema of Object.values(definitions)) {
    for (const { group, kind, version } of schema['x-kubernetes-group-version-kind'] ?? [])
      if (schema.properties?.metadata !== undefined && !kind.endsWith('List'))
        writeKind(target, { group, kind, version }, bundle(requireType(schema), definitions))
  }
}

function writeCustomKinds(target, definitions, { root, folder, prefix, plurals }) {
  for (const plural of plurals) {
    for (const document of parseAllDocuments(
      readFileSync(join(root, folder, `${prefix}${plural}.yaml`), 'utf8'),
    )) {
      const { group, names, versions } = document.toJS().spec
      for (const { name: version, schema, served } of versions) {
        if (!served) continue
        const strict = toStrictSchema(schema.openAPIV3Schema)
        strict.properties.metadata = { $ref: `#/$defs/${OBJECT_META}` }
        writeKind(target, { group, kind: names.kind, version }, bundle(requireType(strict), definitions))
      }
    }
  }
}

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'

/** Kubernetes sets no `required` for the fields that select the schema. */
function requireType(schema) {
  return { ...schema, required: [...new Set(['apiVersion', 'kind', 'metadata', ...(schema.required ?? [])])] }
}

/** Adds the definitions that the schema refers to, directly or through other definitions. */
function bundle(schema, definitions) {
  const $defs = {}
  const add = (text) => {
    for (const [, name] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) {
      if (name in $defs) continue
      $defs[name] = definitions[name]
      add(JSON.stringify(definitions[name]))
    }
  }
  add(JSON.stringify(schema))
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema, $defs }
}

/**
 * Converts a structural schema of a CustomResourceDefinition. The API server removes unknown fields; the strict schema
 * rejects them. Source:
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
function toStrictSchema({ nullable, description: _, ...schema }) {
  const strict = { ...schema }
  if (nullable === true && schema.type !== undefined) strict.type = [schema.type, 'null']
  if (schema.items !== undefined) strict.items = toStrictSchema(schema.items)
  if (typeof schema.additionalProperties === 'object')
    strict.additionalProperties = toStrictSchema(schema.additionalProperties)
  if (schema.properties !== undefined) {
    strict.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, child]) => [name, toStrictSchema(child)]),
    )
    if (schema['x-kubernetes-preserve-unknown-fields'] !== true) strict.additionalProperties ??= false
  }
  return strict
}

function writeKind(target, { group, kind, version }, schema) {
  // kubeconform takes the text before the first slash of `apiVersion` as group. The core group has no slash.
  const folder = join(target, group === '' ? version : group)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${kind.toLowerCase()}_${version}.json`), JSON.stringify(schema))
}
