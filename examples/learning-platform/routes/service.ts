import type { DatabaseSync } from 'node:sqlite'
import type { Links } from '../store/links.ts'

/** What every route works with. */
export type Service = {
  readonly database: DatabaseSync
  readonly links: Links
  /** The time now, RFC 3339. */
  readonly nowIso: () => string
}
