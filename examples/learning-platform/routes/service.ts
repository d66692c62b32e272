import type { DatabaseSync } from 'node:sqlite'
import type { Links } from '../store/links.ts'

export type Service = {
  readonly database: DatabaseSync
  readonly links: Links
  /** Format: RFC 3339. */
  readonly nowIso: () => string
}
