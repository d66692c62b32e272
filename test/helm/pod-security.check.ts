import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startChartRenderer } from './chart-renderer.ts'
import { evaluatePods, findHardeningFaults, findPods, type Pod } from './pod-security.ts'
import { CHART, parseObjects } from './render-chart.ts'

/** The template with the pods of an operator. The operator selects their security context. */
const EXTRA_OBJECTS = 'templates/extra-objects.yaml'

t.test(
  'each pod of each file of helm/ci passes Pod Security Admission at the level "restricted"',
  async (t) => {
    const render = startChartRenderer(t, '/nonexistent')
    for (const file of readdirSync(join(CHART, 'ci'))) {
      const { output, failed } = await render({
        ...{ release: 'gw', valueFiles: [join(CHART, 'ci', file)], template: EXTRA_OBJECTS, text: '' },
      })
      t.equal(failed, undefined, file)
      const pods = findPods(parseObjects(output))
      const { failures } = evaluatePods(pods)
      t.equal(failures.length, pods.length)
      t.ok(pods.length > 0, `${file} renders pods`)
      for (const [index, { path, spec }] of pods.entries()) {
        t.strictSame(failures[index], [], `${file}: ${path}`)
        t.strictSame(findHardeningFaults(spec), [], `${file}: ${path}: our requirements`)
      }
    }
  },
)

const CONTAINER = {
  image: 'a',
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
}
const GOOD = {
  metadata: { annotations: {} },
  spec: {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    containers: [{ name: 'main', ...CONTAINER }],
    initContainers: [{ name: 'init', ...CONTAINER }],
    ephemeralContainers: [{ name: 'debug', ...CONTAINER }],
  },
}
const KINDS = ['containers', 'initContainers', 'ephemeralContainers']

/** A field, a forbidden value of this field, and the checks that fail. `undefined` removes the field. */
type Case = readonly [field: string, value: unknown, ...checks: readonly string[]]

/** Fields of the security context of a pod, and of the security context of a container. */
const CONTEXT_CASES: readonly Case[] = [
  ['appArmorProfile', { type: 'Unconfined' }, 'appArmorProfile'],
  ['seLinuxOptions', { type: 'spc_t' }, 'seLinuxOptions'],
  ['seLinuxOptions', { user: 'system_u' }, 'seLinuxOptions'],
  ['seLinuxOptions', { role: 'system_r' }, 'seLinuxOptions'],
  ['windowsOptions', { hostProcess: true }, 'windowsHostProcess'],
]
const CONTAINER_CASES: readonly Case[] = [
  ...CONTEXT_CASES.map(([field, ...rest]): Case => [`securityContext.${field}`, ...rest]),
  [
    'securityContext',
    undefined,
    ...['allowPrivilegeEscalation', 'capabilities_restricted', 'readOnlyRootFilesystem'],
  ],
  ['securityContext.runAsUser', 0, 'runAsUser'],
  [
    'securityContext.seccompProfile',
    { type: 'Unconfined' },
    ...['seccompProfile_baseline', 'seccompProfile_restricted'],
  ],
  ['securityContext.runAsNonRoot', false, 'runAsNonRoot'],
  ['securityContext.privileged', true, 'privileged'],
  ['securityContext.allowPrivilegeEscalation', true, 'allowPrivilegeEscalation'],
  ['securityContext.allowPrivilegeEscalation', undefined, 'allowPrivilegeEscalation'],
  ['securityContext.procMount', 'Unmasked', 'procMount', 'procMount_restricted'],
  ['securityContext.capabilities.drop', [], 'capabilities_restricted'],
  ['securityContext.capabilities.drop', ['NET_RAW'], 'capabilities_restricted'],
  ['securityContext.capabilities.add', ['CHOWN'], 'capabilities_restricted', 'capabilities.add'],
  ['securityContext.capabilities.add', ['NET_BIND_SERVICE'], 'capabilities.add'],
  [
    'securityContext.capabilities.add',
    ['SYS_ADMIN'],
    ...['capabilities_baseline', 'capabilities_restricted', 'capabilities.add'],
  ],
  ['securityContext.readOnlyRootFilesystem', false, 'readOnlyRootFilesystem'],
  ['ports', [{ containerPort: 80, hostPort: 80 }], 'hostPorts'],
  ...['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle.preStop', 'lifecycle.postStart'].flatMap(
    (handler) =>
      ['httpGet', 'tcpSocket'].map(
        (action): Case => [
          `${handler}.${action}`,
          { host: '127.0.0.1', port: 80 },
          'hostProbesAndHostLifecycle',
        ],
      ),
  ),
]
/** Volumes that "restricted" forbids, with the required fields of each type. */
const FORBIDDEN_VOLUMES = {
  ...{ gcePersistentDisk: {}, awsElasticBlockStore: {}, gitRepo: {}, nfs: {}, iscsi: {}, glusterfs: {} },
  ...{
    rbd: {},
    flexVolume: {},
    cinder: {},
    cephfs: {},
    flocker: {},
    fc: {},
    azureFile: {},
    vsphereVolume: {},
  },
  ...{ quobyte: {}, azureDisk: {}, portworxVolume: {}, photonPersistentDisk: {}, scaleIO: {}, storageos: {} },
}
const SECCOMP = 'securityContext.seccompProfile.type'
const POD_CASES: readonly Case[] = [
  ...CONTEXT_CASES.map(([field, ...rest]): Case => [`securityContext.${field}`, ...rest]),
  ['securityContext.runAsUser', 0, 'runAsUser', 'securityContext.runAsUser'],
  [
    'securityContext.seccompProfile',
    { type: 'Unconfined' },
    ...['seccompProfile_baseline', 'seccompProfile_restricted', SECCOMP],
  ],
  ['hostNetwork', true, 'hostNamespaces'],
  ['hostPID', true, 'hostNamespaces'],
  ['hostIPC', true, 'hostNamespaces'],
  ['securityContext.runAsNonRoot', false, 'runAsNonRoot'],
  ['securityContext.runAsNonRoot', undefined, 'runAsNonRoot'],
  ['securityContext.seccompProfile', undefined, 'seccompProfile_restricted', SECCOMP],
  ['securityContext.seccompProfile', { type: 'Localhost', localhostProfile: 'a' }, SECCOMP],
  ['securityContext.runAsUser', undefined, 'securityContext.runAsUser'],
  ['securityContext.sysctls', [{ name: 'kernel.msgmax', value: '1' }], 'sysctls', 'securityContext.sysctls'],
  ['securityContext.sysctls', [{ name: 'net.ipv4.tcp_syncookies', value: '1' }], 'securityContext.sysctls'],
  ['volumes', [{ name: 'a', hostPath: { path: '/' } }], 'hostPathVolumes', 'restrictedVolumes'],
  ...Object.entries(FORBIDDEN_VOLUMES).map(
    ([type, source]): Case => ['volumes', [{ name: 'a', [type]: source }], 'restrictedVolumes'],
  ),
  ['automountServiceAccountToken', true, 'automountServiceAccountToken'],
  ['automountServiceAccountToken', undefined, 'automountServiceAccountToken'],
  ['enableServiceLinks', undefined, 'enableServiceLinks'],
]
const CASES: readonly Case[] = [
  ...POD_CASES.map(([field, ...rest]): Case => [`spec.${field}`, ...rest]),
  ...KINDS.flatMap((kind) =>
    CONTAINER_CASES.map(([field, ...rest]): Case => [`spec.${kind}.0.${field}`, ...rest]),
  ),
  [
    'metadata.annotations',
    { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' },
    'appArmorProfile',
  ],
]

/** Returns a copy of {@link GOOD} with another value in one field. */
function change(field: string, value: unknown): Pod {
  // structuredClone() would keep the shared CONTAINER shared.
  const pod = JSON.parse(JSON.stringify(GOOD))
  const keys = field.split('.')
  const last = keys.pop() as string
  let target = pod
  for (const key of keys) {
    target[key] ??= {}
    target = target[key]
  }
  target[last] = value
  return pod
}

t.test('a pod with one forbidden field fails exactly the checks of this field', async (t) => {
  t.strictSame(evaluatePods([GOOD]).failures, [[]], 'the unchanged pod passes')
  t.strictSame(findHardeningFaults(GOOD.spec), [])
  const { checks, failures } = evaluatePods(CASES.map(([field, value]) => change(field, value)))
  const seen = new Set<string>()
  for (const [index, [field, value, ...expected]] of CASES.entries()) {
    const faults = [
      ...(failures[index] ?? []).map(({ check }) => check),
      ...findHardeningFaults(change(field, value).spec).map((fault) => fault.replace(/^\w+: /, '')),
    ]
    t.strictSame(faults, expected, `${field}: ${JSON.stringify(value)}`)
    for (const fault of faults) seen.add(fault)
  }
  t.strictSame(
    checks.filter((check) => !seen.has(check)),
    [],
    'each check of Kubernetes has a pod that fails it',
  )
})
