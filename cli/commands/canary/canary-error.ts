import { BootError } from '../../../platform/diagnostics/boot-error.ts'

/** The stages of a run, in their order. `gateway`: a gateway does not respond. */
export const CANARY_STAGES = [
  'secret',
  'discovery',
  'gateway',
  'anonymous',
  'token',
  'accept',
  'revoke',
  'reject',
] as const

export type CanaryStage = (typeof CANARY_STAGES)[number]

/** A failed stage of a run. */
export class CanaryError extends BootError {
  readonly stage: CanaryStage

  constructor(stage: CanaryStage, text: string, cause?: unknown) {
    super('ERR_CANARY', `scopegate canary: stage ${stage}: ${text}.`, { cause })
    this.stage = stage
  }
}
