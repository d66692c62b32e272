import { type Metric, Registry, type RegistryContentType } from 'prom-client'

/** A value of a metric, in the format of `Registry.getMetricsAsJSON()`. */
export type MetricSample = {
  /** Name of the series of a histogram: the name of the metric with a suffix. */
  readonly metricName?: string | undefined
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly exemplar?: Exemplar | null | undefined
}

/** A link from a value to the trace of one request. `timestamp` is in seconds since 1970. */
export type Exemplar = {
  readonly labelSet: Readonly<Record<string, string>>
  readonly value: number
  readonly timestamp: number
}

export type MetricJson = {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly MetricSample[]
}

/** The metrics of one process. */
export type MetricsJson = readonly MetricJson[]

/** Returns the metrics of a registry, in the form that one process sends to another. */
export async function metricsOf(registry: Registry): Promise<MetricsJson> {
  return (await registry.getMetricsAsJSON()) as unknown as MetricsJson
}

export type MetricsFormat = 'text' | 'openmetrics'

export const METRICS_CONTENT_TYPES: Readonly<Record<MetricsFormat, RegistryContentType>> = {
  text: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

/**
 * Selects OpenMetrics 1.0.0 only if `Accept` names this type and does not prefer the text format. Source: RFC 9110
 * section 12.5.1.
 */
export function chooseMetricsFormat(accept = ''): MetricsFormat {
  const ranges = accept.split(',').map(readRange)
  const openMetrics = ranges.filter(
    ({ type, version }) =>
      type === 'application/openmetrics-text' && (version === undefined || version === '1.0.0'),
  )
  const wanted = Math.max(0, ...openMetrics.map(({ quality }) => quality))
  const text =
    ranges.find(({ type }) => type === 'text/plain') ??
    ranges.find(({ type }) => type === 'text/*') ??
    ranges.find(({ type }) => type === '*/*')
  return wanted > 0 && wanted >= (text?.quality ?? 0) ? 'openmetrics' : 'text'
}

const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

function readRange(range: string) {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const parameterOf = (name: string): string | undefined =>
    parameters.find((parameter) => parameter.startsWith(`${name}=`))?.slice(name.length + 1)
  const quality = parameterOf('q') ?? '1'
  return { type, version: parameterOf('version'), quality: QUALITY.test(quality) ? Number(quality) : 0 }
}

/** Formats metrics for a scrape. Only OpenMetrics contains exemplars. */
export function formatMetrics(metrics: MetricsJson, format: MetricsFormat): Promise<string> {
  const registry = new Registry<RegistryContentType>()
  registry.setContentType(METRICS_CONTENT_TYPES[format])
  for (const metric of metrics) {
    const formatted =
      format === 'openmetrics' ? { ...metric, values: metric.values.map(toCanonicalBound) } : { ...metric }
    // The registry removes the suffix of a counter from `name`, and reads the values with `get()`.
    const source = Object.assign(formatted, { get: () => Promise.resolve(formatted) })
    registry.registerMetric(source as unknown as Metric)
  }
  return registry.metrics()
}

/** Adds the decimal point to the bound of a bucket: `1.0`. Source: OpenMetrics 1.0, canonical numbers. */
function toCanonicalBound(sample: MetricSample): MetricSample {
  const { le } = sample.labels
  if (typeof le !== 'number' || !Number.isInteger(le)) return sample
  return { ...sample, labels: { ...sample.labels, le: le.toFixed(1) } }
}
