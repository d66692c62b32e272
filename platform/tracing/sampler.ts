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
  const limit = Math.ceil(ratio * 16 ** RANDOM_DIGITS)
    .toString(16)
    .padStart(RANDOM_DIGITS, '0')
  // Compares texts of the same length, because the conversion to a number costs more.
  const isBelowLimit = (digits: string) => limit.length > RANDOM_DIGITS || digits < limit
  const isParentBased = sampler.startsWith('parentbased_')
  return (traceId, isParentSampled) =>
    isParentBased && isParentSampled !== undefined
      ? isParentSampled
      : isBelowLimit(traceId.slice(-RANDOM_DIGITS))
}
