import type { Container, PodSpec, Volume } from './kube-object.ts'

const VOLUME_TYPES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

/**
 * Returns a message for each field that violates our requirements for pods. The requirements are the Pod Security
 * Standard "restricted", a read-only root file system, no Kubernetes API token, and no environment variables for
 * Services. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
export function findPodSecurityFaults(pod: PodSpec): readonly string[] {
  const faults: string[] = []
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault)
  }
  demand(pod.hostNetwork !== true, 'hostNetwork')
  demand(pod.hostPID !== true, 'hostPID')
  demand(pod.hostIPC !== true, 'hostIPC')
  demand(pod.securityContext?.runAsNonRoot === true, 'securityContext.runAsNonRoot')
  demand((pod.securityContext?.runAsUser ?? 0) > 0, 'securityContext.runAsUser')
  demand(
    pod.securityContext?.seccompProfile?.type === 'RuntimeDefault',
    'securityContext.seccompProfile.type',
  )
  demand((pod.securityContext?.sysctls ?? []).length === 0, 'securityContext.sysctls')
  demand(pod.automountServiceAccountToken === false, 'automountServiceAccountToken')
  demand(pod.enableServiceLinks === false, 'enableServiceLinks')
  for (const volume of pod.volumes ?? []) demand(isAllowedVolume(volume), `volumes: ${volume.name}`)
  const containers = [...pod.containers, ...(pod.initContainers ?? []), ...(pod.ephemeralContainers ?? [])]
  demand(containers.length > 0, 'containers')
  for (const container of containers) faults.push(...findContainerFaults(container))
  return faults
}

function findContainerFaults(container: Container): readonly string[] {
  const faults: string[] = []
  const context = container.securityContext
  const demand = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(`containers.${container.name}: ${fault}`)
  }
  demand(context?.privileged !== true, 'privileged')
  demand(context?.allowPrivilegeEscalation === false, 'allowPrivilegeEscalation')
  demand(context?.readOnlyRootFilesystem === true, 'readOnlyRootFilesystem')
  demand(context?.runAsNonRoot !== false, 'runAsNonRoot')
  demand(context?.runAsUser !== 0, 'runAsUser')
  demand((context?.procMount ?? 'Default') === 'Default', 'procMount')
  demand(context?.capabilities?.drop?.includes('ALL') === true, 'capabilities.drop')
  demand(
    (context?.capabilities?.add ?? []).every((name) => name === 'NET_BIND_SERVICE'),
    'capabilities.add',
  )
  demand(
    ['RuntimeDefault', 'Localhost', undefined].includes(context?.seccompProfile?.type),
    'seccompProfile.type',
  )
  demand(
    (container.ports ?? []).every((port) => port.hostPort === undefined),
    'hostPort',
  )
  return faults
}

function isAllowedVolume(volume: Volume): boolean {
  return Object.keys(volume).every((key) => key === 'name' || VOLUME_TYPES.includes(key))
}
