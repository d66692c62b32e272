import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { KubeObject } from '../kube-object.ts'
import { CHART } from '../render-chart.ts'
import { twice } from './common-values.ts'
import { both } from './read-fields.ts'
import type { Scenario } from './scenario.ts'

const monitorOf = (of: string) => ({
  ...{ interval: `${of}s`, scrapeTimeout: `${of}ms`, honorLabels: true },
  ...{ relabelings: [{ targetLabel: of }], metricRelabelings: [{ regex: of }] },
})
const MONITORED = {
  matchLabels: { 'app.kubernetes.io/name': 'scopegate', 'app.kubernetes.io/instance': 'gw' },
}
/** Returns the texts of the files in a folder of the chart. */
const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(CHART, folder)).map((file) => readFileSync(join(CHART, folder, file), 'utf8'))
/** Replaces the objectives and the addresses of the runbooks, as the scenario with rules does. */
function withObjectives(rules: string): string {
  const [availability, latency] = rules.includes('name: scopegate-authorization-server-objectives')
    ? [98.5, 96]
    : [99, 97]
  return rules
    .replaceAll('* 0.001', `* (1 - ${availability} / 100)`)
    .replaceAll('* 0.01', `* (1 - ${latency} / 100)`)
    .replaceAll(': docs/runbooks/', ': https://runbooks.example.org/')
}
const marks = ({ annotations, labels }: KubeObject['metadata']) => [annotations, labels?.['of']]

export const MONITORING: readonly Scenario[] = [
  {
    name: 'traces',
    values: {
      tracing: {
        ...{ endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
        headers: { existingSecret: 'otlp', key: 'all' },
      },
    },
    checks: [
      [
        'tracing.endpoint, tracing.sampleRatio, tracing.trustIncoming',
        both((c, one) => c.config(one)['tracing']),
        [
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'never' },
        ],
      ],
      [
        'tracing.headers.existingSecret, tracing.headers.key',
        both((c, one) => c.container(one).env?.filter(({ name }) => name.startsWith('OTEL'))),
        twice([
          {
            name: 'OTEL_EXPORTER_OTLP_HEADERS',
            valueFrom: { secretKeyRef: { name: 'otlp', key: 'all' } },
          },
        ]),
      ],
    ],
  },
  {
    name: 'traces of the gateway that the authorization server continues',
    values: { tracing: { endpoint: 'http://otel:4318', sampleRatio: 0.1 } },
    checks: [
      [
        'tracing.trustIncoming',
        both((c, one) => c.config(one)['tracing']),
        [
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'trusted-proxies' },
          { endpoint: 'http://otel:4318', sampleRatio: 0.1, trustIncoming: 'always' },
        ],
      ],
    ],
  },
  {
    name: 'no traces',
    values: {},
    checks: [
      ['tracing.endpoint', both((c, one) => c.config(one)['tracing']), twice(undefined)],
      [
        'tracing.headers.existingSecret',
        both((c, one) => c.container(one).env?.some(({ name }) => name.startsWith('OTEL'))),
        twice(false),
      ],
    ],
  },
  {
    name: 'monitors, rules and dashboards',
    values: {
      metrics: {
        serviceMonitor: { enabled: true, ...monitorOf('1'), annotations: { of: '1' }, labels: { of: '1' } },
        podMonitor: { enabled: true, ...monitorOf('2'), annotations: { of: '2' }, labels: { of: '2' } },
        prometheusRule: {
          ...{ enabled: true, annotations: { of: '3' }, labels: { of: '3' } },
          groups: [{ name: 'own', rules: [] }],
          objectives: {
            gateway: { availability: 99, latency: 97 },
            authorizationServer: { availability: 98.5, latency: 96 },
          },
        },
        dashboards: { enabled: true, annotations: { of: '4' }, labels: { of: '4' } },
      },
      alerts: { runbookUrlBase: 'https://runbooks.example.org/' },
    },
    checks: [
      [
        'metrics.serviceMonitor, metrics.podMonitor',
        (c) => ['ServiceMonitor', 'PodMonitor'].map((kind) => c.object(kind, 'gateway').spec),
        [
          { selector: MONITORED, endpoints: [{ port: 'management', ...monitorOf('1') }] },
          { selector: MONITORED, podMetricsEndpoints: [{ port: 'management', ...monitorOf('2') }] },
        ],
      ],
      [
        'metrics.serviceMonitor, metrics.podMonitor, metrics.prometheusRule, metrics.dashboards.annotations, metrics.dashboards.labels',
        (c) => [
          ...['ServiceMonitor', 'PodMonitor', 'PrometheusRule'].map((kind) =>
            marks(c.object(kind, 'gateway').metadata),
          ),
          marks(c.object('ConfigMap', 'gateway', '-dashboard-overview').metadata),
        ],
        ['1', '2', '3'].map((of) => [{ of }, of]).concat([[{ of: '4' }, '4']]),
      ],
      [
        'metrics.prometheusRule, alerts.runbookUrlBase',
        (c) => c.object('PrometheusRule', 'gateway').spec,
        {
          groups: [
            { name: 'own', rules: [] },
            ...filesOf('alerts').flatMap((text) => parse(withObjectives(text)).groups),
          ],
        },
      ],
      [
        'metrics.dashboards.enabled',
        (c) =>
          c.objects
            .filter(({ metadata }) => metadata.name.startsWith('gw-scopegate-dashboard-'))
            .map(({ data = {} }) => Object.values(data).map((text) => JSON.parse(text))),
        filesOf('dashboards').map((text) => [JSON.parse(text)]),
      ],
    ],
  },
]
