import type { ChartView, Component } from '../chart-view.ts'
import type { PodSpec } from '../kube-object.ts'

type ServiceComponent = Exclude<Component, 'canary'>
export const BOTH: readonly ServiceComponent[] = ['gateway', 'authorization-server']
/** Reads the same field of both services. */
export const both =
  (read: (chart: ChartView, component: ServiceComponent) => unknown) => (chart: ChartView) =>
    BOTH.map((component) => read(chart, component))
export const decode = (text: string | undefined) => Buffer.from(text ?? '', 'base64').toString()
export const podMeta = (chart: ChartView, component: Component) =>
  chart.object('Deployment', component).spec?.template?.metadata
export const rules = (chart: ChartView, component: Component) => chart.object('Deployment', component).spec
export const projected = (chart: ChartView, component: Component) =>
  chart
    .volume(component, 'secrets')
    ?.projected?.sources.map(({ secret }) => [secret?.name, ...(secret?.items ?? [])])
export const testSpec = (chart: ChartView) =>
  chart.objects.find(({ kind }) => kind === 'Pod')?.spec as unknown as PodSpec | undefined
export const testArgs = (chart: ChartView) => testSpec(chart)?.containers[0]?.args
