import { spawnSync } from 'node:child_process'
import type { Container, KubeObject, PodSpec } from './kube-object.ts'

/** A pod, or the template of a workload. */
export type Pod = { readonly metadata?: object; readonly spec: PodSpec }
/** A pod, and the path of the pod in the objects of a chart. */
export type FoundPod = Pod & { readonly path: string }

/** Returns all pods in objects of any kind: Pods, and templates of Deployments, Jobs and CronJobs. */
export function findPods(objects: readonly KubeObject[]): readonly FoundPod[] {
  return objects.flatMap((object) => findPodsIn(object, `${object.kind}/${object.metadata.name}`))
}

function findPodsIn(value: unknown, path: string): readonly FoundPod[] {
  if (typeof value !== 'object' || value === null) return []
  const { metadata, spec } = value as Partial<Pod>
  if (Array.isArray(spec?.containers)) return [{ path, metadata: metadata ?? {}, spec }]
  return Object.entries(value).flatMap(([key, child]) => findPodsIn(child, `${path}.${key}`))
}

/** The result of Pod Security Admission: the names of all its checks, and the failed checks of each pod. */
export type Admission = {
  readonly checks: readonly string[]
  readonly failures: readonly (readonly { readonly check: string; readonly detail: string }[])[]
}

/** Evaluates pods with all checks of Pod Security Admission, of the levels "baseline" and "restricted". */
export function evaluatePods(pods: readonly Pod[]): Admission {
  const program = process.env['SCOPEGATE_POD_CHECKS']
  if (program === undefined)
    throw new Error('SCOPEGATE_POD_CHECKS is not set: run the checks with `node scripts/check-chart.js`')
  const input = pods.map(({ metadata, spec }) => JSON.stringify({ metadata, spec })).join('\n')
  const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(`check-pods failed: ${stderr}`)
  const [checks, ...failures] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return { checks, failures }
}

/**
 * Returns a message for each field that violates our requirements. The requirements are stricter than the level
 * "restricted": a fixed user, a read-only root file system, no token of the Kubernetes API, no environment variables
 * for Services, and no sysctls.
 */
export function findHardeningFaults(pod: PodSpec): readonly string[] {
  const faults: string[] = []
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault)
  }
  demand((pod.securityContext?.runAsUser ?? 0) > 0, 'securityContext.runAsUser')
  demand(
    pod.securityContext?.seccompProfile?.type === 'RuntimeDefault',
    'securityContext.seccompProfile.type',
  )
  demand((pod.securityContext?.sysctls ?? []).length === 0, 'securityContext.sysctls')
  demand(pod.automountServiceAccountToken === false, 'automountServiceAccountToken')
  demand(pod.enableServiceLinks === false, 'enableServiceLinks')
  for (const container of [
    ...pod.containers,
    ...(pod.initContainers ?? []),
    ...(pod.ephemeralContainers ?? []),
  ])
    for (const fault of findContainerFaults(container)) faults.push(`${container.name}: ${fault}`)
  return faults
}

function findContainerFaults({ securityContext }: Container): readonly string[] {
  return [
    ...(securityContext?.readOnlyRootFilesystem === true ? [] : ['readOnlyRootFilesystem']),
    ...((securityContext?.capabilities?.add ?? []).length === 0 ? [] : ['capabilities.add']),
  ]
}
