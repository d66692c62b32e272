import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startChartRenderer } from './chart-renderer.ts'
import { CHART, parseObjects } from './render-chart.ts'

type Summary = {
  readonly valid: number
  readonly invalid: number
  readonly errors: number
  readonly skipped: number
}
/** Only resources with a problem. */
type Report = {
  readonly resources: readonly { filename: string; kind: string; name: string; msg: string }[]
  readonly summary: Summary
}

const { SCOPEGATE_KUBECONFORM: program, SCOPEGATE_KUBE_SCHEMAS: schemas } = process.env
if (program === undefined || schemas === undefined)
  throw new Error('SCOPEGATE_KUBECONFORM is not set: run the checks with `node scripts/check-chart.js`')
/** scripts/install-kubeconform.js lists the versions. */
const KUBERNETES_VERSIONS = readdirSync(schemas).map((folder) => folder.slice('v'.length))

/** Kinds of custom resources without a published schema. */
const UNPUBLISHED = ['networking.gke.io/v1/HealthCheckPolicy']

/** Validates all YAML files of a folder with the schemas of one Kubernetes version and of custom resources. */
function validate(folder: string, kubernetes: string): Report {
  const { stdout, stderr } = spawnSync(
    program as string,
    [
      ...['-strict', '-summary', '-output', 'json', '-kubernetes-version', kubernetes, '-schema-location'],
      `${schemas}/{{.NormalizedKubernetesVersion}}/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json`,
      ...['-skip', UNPUBLISHED.join(','), folder],
    ],
    { encoding: 'utf8' },
  )
  if (stdout === '') throw new Error(`kubeconform failed: ${stderr}`)
  return JSON.parse(stdout)
}

for (const kubernetes of KUBERNETES_VERSIONS) {
  t.test(`each file of helm/ci renders objects that Kubernetes ${kubernetes} accepts`, async (t) => {
    const folder = t.testdir()
    const render = startChartRenderer(t, '/nonexistent')
    let [objects, skipped] = [0, 0]
    for (const file of readdirSync(join(CHART, 'ci'))) {
      const { output, failed } = await render({
        ...{ release: 'gw', valueFiles: [join(CHART, 'ci', file)], kubeVersion: kubernetes },
      })
      t.equal(failed, undefined, file)
      const kinds = parseObjects(output).map(({ apiVersion, kind }) => `${apiVersion}/${kind}`)
      objects += kinds.length
      skipped += kinds.filter((one) => UNPUBLISHED.includes(one)).length
      writeFileSync(join(folder, file), output)
    }
    const { resources, summary } = validate(folder, kubernetes)
    for (const { filename, kind, name, msg } of resources) t.fail(`${filename}: ${kind} ${name}: ${msg}`)
    t.same(
      summary,
      { valid: objects - skipped, invalid: 0, errors: 0, skipped },
      'validates each object with a published schema',
    )
  })
}

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n'
const MONITOR = 'apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: { name: a }\n'
const ROUTE = 'apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: { name: a }\n'
const CERTIFICATE = 'apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: { name: a }\n'
/** Objects with an error, and a part of the message of kubeconform. */
const INVALID: readonly (readonly [name: string, yaml: string, message: RegExp])[] = [
  [
    'an unknown field',
    `${POD}spec: { containers: [{ name: a, imagePolicy: Always }] }`,
    /'imagePolicy' not allowed/,
  ],
  [
    'an unknown field in the metadata',
    `${POD.replace('name: a', 'name: a, label: {}')}spec: { containers: [{ name: a }] }`,
    /'label' not allowed/,
  ],
  [
    'a wrong type',
    `${POD}spec: { containers: [{ name: a, ports: [{ containerPort: "80" }] }] }`,
    /containerPort.*got string/,
  ],
  ['a missing field', `${POD}spec: {}`, /missing property 'containers'/],
  ['a duplicate key', `${POD}spec: { containers: [{ name: a, name: b }] }`, /name.*already/],
  ['a missing apiVersion', 'kind: Pod', /apiVersion|missing/i],
  [
    'an unknown API version',
    'apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: { name: a }',
    /could not find schema/,
  ],
  [
    'an unknown field of a ServiceMonitor',
    `${MONITOR}spec: { selector: {}, endpoints: [{ intervall: 1s }] }`,
    /'intervall' not allowed/,
  ],
  [
    'a wrong type in the metadata of a ServiceMonitor',
    `${MONITOR.replace('name: a', 'name: a, labels: { a: 1 }')}spec: { selector: {}, endpoints: [] }`,
    /labels.*got number/,
  ],
  [
    'a wrong type in an HTTPRoute',
    `${ROUTE}spec: { rules: [{ backendRefs: [{ name: a, port: http }] }] }`,
    /port.*got string/,
  ],
  [
    'a missing field of a Certificate',
    `${CERTIFICATE}spec: { secretName: a }`,
    /missing property 'issuerRef'/,
  ],
]

t.test('kubeconform rejects each kind of error', async (t) => {
  const folder = t.testdir()
  for (const [index, [name, yaml, message]] of INVALID.entries()) {
    const one = join(folder, String(index))
    mkdirSync(one)
    writeFileSync(join(one, 'object.yaml'), yaml)
    for (const kubernetes of KUBERNETES_VERSIONS) {
      const { resources, summary } = validate(one, kubernetes)
      t.equal(summary.valid, 0, `${name}: ${kubernetes}`)
      t.match(resources[0]?.msg, message, `${name}: ${kubernetes}`)
    }
  }
})
