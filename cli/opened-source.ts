import type { SourceState } from '../policy-engine/load/load-policy-sources.ts'
import type { PolicySource } from '../policy-engine/load/source-permissions.ts'

export type OpenedSource = { readonly source: PolicySource; readonly state: SourceState }
