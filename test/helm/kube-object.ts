/** The checks read only these members of Kubernetes objects. */
export type KubeObject = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly type?: string
  readonly rules?: unknown
  readonly roleRef?: unknown
  readonly subjects?: unknown
  readonly data?: Readonly<Record<string, string>>
  readonly automountServiceAccountToken?: boolean
  readonly spec?: {
    readonly replicas?: number
    readonly revisionHistoryLimit?: number
    readonly type?: string
    readonly strategy?: { readonly type: string; readonly rollingUpdate?: object }
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> } & Readonly<
      Record<string, unknown>
    >
    readonly ports?: readonly ServicePort[]
    readonly rules?: unknown
    readonly groups?: readonly object[]
    readonly tls?: readonly object[]
    readonly secretName?: string
    readonly ingress?: readonly NetworkRule[]
    readonly egress?: readonly NetworkRule[]
    readonly template?: {
      readonly metadata: KubeObject['metadata'] | Omit<KubeObject['metadata'], 'name'>
      readonly spec: PodSpec
    }
  }
}

export type NetworkRule = {
  readonly ports?: readonly { readonly port: string | number; readonly protocol: string }[]
  readonly from?: readonly object[]
}

export type ServicePort = {
  readonly name: string
  readonly port: number
  readonly targetPort: string | number
  readonly appProtocol?: string
}

/** The checks read only these members of a pod. */
export type PodSpec = {
  readonly serviceAccountName?: string
  readonly automountServiceAccountToken?: boolean
  readonly enableServiceLinks?: boolean
  readonly terminationGracePeriodSeconds?: number
  readonly topologySpreadConstraints?: readonly object[]
  readonly affinity?: object
  readonly nodeSelector?: object
  readonly tolerations?: readonly object[]
  readonly priorityClassName?: string
  readonly hostAliases?: readonly object[]
  readonly dnsPolicy?: string
  readonly dnsConfig?: object
  readonly runtimeClassName?: string
  readonly schedulerName?: string
  readonly imagePullSecrets?: readonly { readonly name: string }[]
  readonly securityContext?: {
    readonly runAsNonRoot?: boolean
    readonly runAsUser?: number
    readonly runAsGroup?: number
    readonly fsGroup?: number
    readonly sysctls?: readonly unknown[]
    readonly seccompProfile?: { readonly type: string }
  }
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly ephemeralContainers?: readonly Container[]
  readonly volumes?: readonly Volume[]
}

/** The checks read only these members of a container. */
export type Container = {
  readonly name: string
  readonly image: string
  readonly imagePullPolicy?: string
  /** `Always`: an init container that runs as long as the pod. */
  readonly restartPolicy?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly envFrom?: readonly object[]
  readonly ports?: readonly {
    readonly name: string
    readonly containerPort: number
    readonly hostPort?: number
  }[]
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: {
      readonly secretKeyRef: { readonly name: string; readonly key: string; readonly optional?: boolean }
    }
  }[]
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean
    readonly privileged?: boolean
    readonly readOnlyRootFilesystem?: boolean
    readonly runAsNonRoot?: boolean
    readonly runAsUser?: number
    readonly procMount?: string
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] }
    readonly seccompProfile?: { readonly type: string }
  }
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>
    readonly limits?: Readonly<Record<string, string>>
  }
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } }
  readonly volumeMounts?: readonly {
    readonly name: string
    readonly mountPath: string
    readonly readOnly?: boolean
    readonly subPath?: string
  }[]
}

export type Probe = {
  readonly httpGet: { readonly path: string; readonly port: string | number }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

type Item = { readonly key: string; readonly path: string }
type Source = { readonly name?: string; readonly items?: readonly Item[] }
/** The chart mounts only these types of volumes. */
export type Volume = {
  readonly name: string
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string }
  readonly image?: { readonly reference: string; readonly pullPolicy: string }
  readonly configMap?: Source
  readonly secret?: {
    readonly secretName: string
    readonly defaultMode?: number
    readonly optional?: boolean
  }
  readonly projected?: {
    readonly defaultMode?: number
    readonly sources: readonly { readonly configMap?: Source; readonly secret?: Source }[]
  }
  readonly persistentVolumeClaim?: { readonly claimName: string }
}
