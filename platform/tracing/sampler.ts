import type { TracingSettings } from './tracing-settings.ts'

/**
 * Returns whether to record a trace.
 * @param isParentSampled the decision of the sender. Undefined: the trace begins in this process.
 */
export type Sampler = (traceId: string, isParentSampled: boolean | undefined) => boolean

/** W3C Trace Context Level 2, section 3.2.2.3: the last digits of a trace ID are random. */
const RANDOM_DIGITS = 8

/** Creates the sampler that a value of `OTEL_TRACES_SAMPLER` names. All processes make the same decision for a trace ID. */
export function createSampler({
  sampler,
  sampleRatio,
}: Pick<TracingSettings, 'sampler' | 'sampleRatio'>): Sampler {
  const ratio = sampler.endsWith('traceidratio') ? sampleRatio : sampler.endsWith('always_on') ? 1 : 0
  const limit = ratio * 16 ** RANDOM_DIGITS
  const isParentBased = sampler.startsWith('parentbased_')
  return (traceId, isParentSampled) =>
    isParentBased && isParentSampled !== undefined
      ? isParentSampled
      : Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) < limit
}
