import type { ChartView, Component } from '../chart-view.ts'
import { selector, twice } from './common-values.ts'
import { both, podMeta, rules } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

/** Values that exist globally and for each component. The number shows the source of a rendered value. */
const extrasOf = (of: number | string) => ({
  extraEnv: [{ name: `ENV_${of}`, value: '{{ .Release.Name }}' }],
  extraEnvFrom: [{ secretRef: { name: `{{ .Release.Name }}-${of}` } }],
  extraArgs: [`--arg=${of}`],
  extraVolumes: [{ name: `volume-${of}`, configMap: { name: '{{ .Release.Name }}' } }],
  extraVolumeMounts: [{ name: `volume-${of}`, mountPath: '/{{ .Release.Name }}' }],
  extraContainers: [{ name: `container-${of}`, image: '{{ .Release.Name }}' }],
  extraInitContainers: [{ name: `init-${of}`, image: '{{ .Release.Name }}' }],
  podAnnotations: { global: '0', [`annotation-${of}`]: String(of) },
  podLabels: { global: '0', [`label-${of}`]: String(of) },
})
const placementOf = (of: number | string) => ({
  topologySpreadConstraints: [{ topologyKey: `rack-${of}` }],
  affinity: { podAffinity: { of } },
  nodeSelector: { pool: String(of) },
  tolerations: [{ key: `taint-${of}` }],
  priorityClassName: `class-${of}`,
  hostAliases: [{ ip: `10.0.0.${of}` }],
  dnsPolicy: of === 1 ? 'Default' : 'None',
  dnsConfig: { nameservers: [`10.0.0.${of}`] },
  runtimeClassName: `runtime-${of}`,
  schedulerName: `scheduler-${of}`,
})
const placement = (chart: ChartView, component: Component) => {
  const pod = chart.pod(component)
  return Object.fromEntries(
    (Object.keys(placementOf(0)) as (keyof ReturnType<typeof placementOf>)[]).map((key) => [key, pod[key]]),
  )
}
const PLACEMENTS = Object.keys(placementOf(0))
const EXTRAS = Object.keys(extrasOf(0))
/** Returns the paths of keys that exist globally, for the gateway and for the authorization server. */
const everywhere = (keys: readonly string[]): string =>
  ['', 'gateway.', 'authorizationServer.'].flatMap((part) => keys.map((key) => part + key)).join(', ')
const utilization = (name: string, averageUtilization: number) => ({
  ...{ type: 'Resource', resource: { name, target: { type: 'Utilization', averageUtilization } } },
})

export const PODS: readonly Scenario[] = [
  {
    name: 'additions and placement of each component',
    values: {
      ...extrasOf(0),
      ...placementOf(0),
      extraObjects: [
        { ...{ apiVersion: 'v1', kind: 'Secret' }, metadata: { name: 'own-{{ .Release.Name }}' } },
        'apiVersion: v1\nkind: Secret\nmetadata: { name: "text-{{ .Release.Name }}" }',
      ],
      gateway: {
        ...extrasOf(1),
        ...placementOf(1),
        deploymentAnnotations: { reload: 'gateway' },
        resources: { limits: { memory: '1Gi' } },
      },
      authorizationServer: {
        ...extrasOf(2),
        ...placementOf(2),
        deploymentAnnotations: { reload: 'server' },
      },
    },
    checks: [
      [
        everywhere(EXTRAS),
        both((c, one) => {
          const { env, envFrom, args, volumeMounts } = c.container(one)
          const { volumes, containers, initContainers } = c.pod(one)
          return {
            env: env?.slice(-2),
            ...{ envFrom, args, volumes: volumes?.slice(-2), volumeMounts: volumeMounts?.slice(-2) },
            ...{ containers: containers.slice(1), initContainers },
            annotations: Object.entries(podMeta(c, one)?.annotations ?? {}).filter(
              ([key]) => !/^check/.test(key),
            ),
            labels: Object.entries(podMeta(c, one)?.labels ?? {}).filter(([key]) =>
              /^(global|label)/.test(key),
            ),
          }
        }),
        [1, 2].map((own) => ({
          env: [0, own].map((of) => ({ name: `ENV_${of}`, value: 'gw' })),
          envFrom: [0, own].map((of) => ({ secretRef: { name: `gw-${of}` } })),
          args: [`--arg=0`, `--arg=${own}`],
          volumes: [0, own].map((of) => ({ name: `volume-${of}`, configMap: { name: 'gw' } })),
          volumeMounts: [0, own].map((of) => ({ name: `volume-${of}`, mountPath: '/gw' })),
          containers: [0, own].map((of) => ({ name: `container-${of}`, image: 'gw' })),
          initContainers: [0, own].map((of) => ({ name: `init-${of}`, image: 'gw' })),
          annotations: [
            ['annotation-0', '0'],
            [`annotation-${own}`, String(own)],
            ['global', '0'],
          ],
          labels: [
            ['global', '0'],
            ['label-0', '0'],
            [`label-${own}`, String(own)],
          ],
        })),
      ],
      [everywhere(PLACEMENTS), both(placement), [placementOf(1), placementOf(2)]],
      [
        'extraObjects',
        (c) => c.objects.map(({ metadata }) => metadata.name).filter((name) => /^(own|text)-gw$/.test(name)),
        ['own-gw', 'text-gw'],
      ],
      [
        'gateway.deploymentAnnotations, authorizationServer.deploymentAnnotations',
        both((c, one) => c.object('Deployment', one).metadata.annotations?.['reload']),
        ['gateway', 'server'],
      ],
      [
        'gateway.resources',
        both((c, one) => c.container(one).resources?.limits?.['memory']),
        ['1Gi', '384Mi'],
      ],
      [
        'gateway.resources',
        both((c, one) => c.env(one, 'NODE_OPTIONS')),
        ['--max-old-space-size=768', '--max-old-space-size=288'],
      ],
    ],
  },
  {
    name: 'scaling and disruption budgets of both services',
    values: {
      redis: { url: 'redis://redis:6379' },
      autoscaling: {
        ...{ enabled: true, minReplicas: 3, maxReplicas: 9, targetCPUUtilizationPercentage: 55 },
        ...{ targetMemoryUtilizationPercentage: 66, metrics: [{ type: 'Pods' }] },
        behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
      },
      podDisruptionBudget: { enabled: true, minAvailable: '50%', unhealthyPodEvictionPolicy: '' },
      authorizationServer: {
        signingKeys: { existingSecret: 'signing' },
        autoscaling: { ...{ enabled: true, minReplicas: 2 }, ...{ maxReplicas: 4 } },
        podDisruptionBudget: {
          enabled: true,
          maxUnavailable: 2,
          unhealthyPodEvictionPolicy: 'IfHealthyBudget',
        },
      },
    },
    checks: [
      [
        ['', 'authorizationServer.']
          .flatMap((path) =>
            [
              ...['enabled', 'minReplicas', 'maxReplicas', 'targetCPUUtilizationPercentage'],
              ...['targetMemoryUtilizationPercentage', 'metrics', 'behavior'],
            ].map((key) => `${path}autoscaling.${key}`),
          )
          .join(', '),
        both((c, one) => c.object('HorizontalPodAutoscaler', one).spec),
        [
          {
            scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'gw-scopegate' },
            ...{ minReplicas: 3, maxReplicas: 9 },
            metrics: [utilization('cpu', 55), utilization('memory', 66), { type: 'Pods' }],
            behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
          },
          {
            scaleTargetRef: {
              ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'gw-scopegate-authorization-server' },
            },
            ...{ minReplicas: 2, maxReplicas: 4 },
            metrics: [utilization('cpu', 75)],
          },
        ],
      ],
      [
        'autoscaling.enabled, authorizationServer.autoscaling.enabled',
        both((c, one) => rules(c, one)?.replicas),
        twice(undefined),
      ],
      [
        ['', 'authorizationServer.']
          .flatMap((path) =>
            ['enabled', 'minAvailable', 'maxUnavailable', 'unhealthyPodEvictionPolicy'].map(
              (key) => `${path}podDisruptionBudget.${key}`,
            ),
          )
          .join(', '),
        both((c, one) => c.object('PodDisruptionBudget', one).spec),
        [
          { minAvailable: '50%', selector: { matchLabels: selector('gateway', 'scopegate') } },
          {
            ...{ maxUnavailable: 2, unhealthyPodEvictionPolicy: 'IfHealthyBudget' },
            selector: { matchLabels: selector('authorization-server', 'scopegate') },
          },
        ],
      ],
    ],
  },
  {
    name: 'a disruption budget with its defaults',
    values: { podDisruptionBudget: { enabled: true } },
    checks: [
      [
        'podDisruptionBudget.maxUnavailable',
        (c) => c.object('PodDisruptionBudget', 'gateway').spec,
        {
          ...{ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
          selector: { matchLabels: selector('gateway', 'scopegate') },
        },
      ],
    ],
  },
]
