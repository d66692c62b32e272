import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Component } from '../chart-view.ts'
import { CHART } from '../render-chart.ts'

export const twice = (expected: unknown): readonly unknown[] => [expected, expected]
export const VERSION: string = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')).version
export const DIGESTS = { gateway: `sha256:${'a'.repeat(64)}`, server: `sha256:${'b'.repeat(64)}` }
export const POLICY = 'apiVersion: scopegate/v1\nkind: Policy\nname: books\n'
export const CONTAINER_SECURITY = { runAsUser: 7 }
export const SECCOMP = { type: 'RuntimeDefault' }
export const WITH_CONTAINER_SECURITY = {
  ...{ allowPrivilegeEscalation: false, privileged: false, readOnlyRootFilesystem: true, runAsNonRoot: true },
  ...{ capabilities: { drop: ['ALL'] }, seccompProfile: SECCOMP, ...CONTAINER_SECURITY },
}
export const MANAGEMENT = {
  name: 'management',
  targetPort: 'management',
  protocol: 'TCP',
  appProtocol: 'http',
}
export const names = (service: string, namespace: string): readonly string[] =>
  ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.cluster.local`].map((end) => service + end)
export const selector = (component: Component | 'test', name: string) => ({
  'app.kubernetes.io/name': name,
  'app.kubernetes.io/instance': 'gw',
  'app.kubernetes.io/component': component,
})
export const HTTP = { name: 'http', targetPort: 'http', protocol: 'TCP', appProtocol: 'http' }
export const PARENT = { name: 'public', namespace: 'ingress' }
export const SERVER_PATHS = [
  '/oauth',
  '/api/oauth',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
]
export const onIngress = (paths: readonly string[], pathType = 'Prefix', name = 'gw-scopegate') => ({
  paths: paths.map((path) => ({
    ...{ path, pathType },
    backend: { service: { name, port: { name: 'http' } } },
  })),
})
export const tcp = (...ports: readonly (string | number)[]) =>
  ports.map((port) => ({ port, protocol: 'TCP' }))
/** The pod of `helm test` as a peer of a NetworkPolicy. */
export const TEST_PEER = { podSelector: { matchLabels: selector('test', 'scopegate') } }
export const DNS = { ports: ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol })) }
