import type { DatabaseSync } from 'node:sqlite'
import type { Links } from '../store/links.ts'

export type Service = {
  readonly database: DatabaseSync
  readonly links: Links
  /** Returns the current time. RFC 3339. */
  readonly nowIso: () => string
}
