import { parse } from 'yaml'
import type { Container, KubeObject, PodSpec, Volume } from './kube-object.ts'

export type Component = 'gateway' | 'authorization-server' | 'canary'

/** A rendered chart. Tests select its objects by component, not by name. */
export type ChartView = {
  readonly objects: readonly KubeObject[]
  /**
   * Returns the object of this kind and component. The name of the object must end with `suffix`.
   * @throws {Error} if the chart did not render this object.
   */
  object(kind: string, component: Component, suffix?: string): KubeObject
  /** Returns undefined if the chart did not render this object. */
  find(kind: string, component: Component, suffix?: string): KubeObject | undefined
  pod(component: Component): PodSpec
  container(component: Component): Container
  env(component: Component, name: string): unknown
  volume(component: Component, name: string): Omit<Volume, 'name'> | undefined
  /** Returns the path of a volume in the container, and whether the mount is read-only. */
  mount(component: Component, name: string): readonly [path: string, readOnly: boolean] | undefined
  /** Returns a YAML file of the component's ConfigMap. */
  config(component: Component, file?: string): Readonly<Record<string, unknown>>
}

export function viewChart(objects: readonly KubeObject[]): ChartView {
  const find: ChartView['find'] = (kind, component, suffix = '') =>
    objects.find(
      (one) =>
        one.kind === kind &&
        one.metadata.labels?.['app.kubernetes.io/component'] === component &&
        one.metadata.name.endsWith(suffix),
    )
  const object: ChartView['object'] = (kind, component, suffix) => {
    const found = find(kind, component, suffix)
    if (found === undefined) throw new Error(`no ${kind} of the ${component} ends in "${suffix ?? ''}"`)
    return found
  }
  const pod: ChartView['pod'] = (component) => {
    const spec = object('Deployment', component).spec?.template?.spec
    if (spec === undefined) throw new Error(`the ${component} has no pod`)
    return spec
  }
  const container: ChartView['container'] = (component) => {
    const [first] = pod(component).containers
    if (first === undefined) throw new Error(`the ${component} has no container`)
    return first
  }
  /** The parsed files, because a scenario checks the same file many times. */
  const configs = new Map<string, ReturnType<ChartView['config']>>()
  return {
    ...{ objects, find, object, pod, container },
    env(component, name) {
      const found = container(component).env?.find((one) => one.name === name)
      return found?.valueFrom ?? found?.value
    },
    volume(component, name) {
      const found = pod(component).volumes?.find((one) => one.name === name)
      if (found === undefined) return undefined
      const { name: _, ...source } = found
      return source
    },
    mount(component, name) {
      const found = container(component).volumeMounts?.find((one) => one.name === name)
      return found && [found.mountPath, found.readOnly === true]
    },
    config(component, file = `${component}.yaml`) {
      const text = object('ConfigMap', component, '-config').data?.[file] ?? ''
      const content = configs.get(text) ?? parse(text)
      configs.set(text, content)
      return content
    },
  }
}
