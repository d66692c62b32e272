import type { SourceState } from '../policy-engine/load/load-policy-sources.ts'
import type { PolicySource } from '../policy-engine/load/source-permissions.ts'

/** A policy source, and the result of its checks. */
export type OpenedSource = { readonly source: PolicySource; readonly state: SourceState }
