import type { DatabaseSync } from 'node:sqlite'
import type { Link } from './read-links.ts'

/** References between resources. The references prevent the removal of a referenced resource. */
export type Links = {
  missing(links: readonly Link[]): Link | undefined
  write(source: string, sourceId: string, links: readonly Link[]): void
  /** Returns a resource that references the target. Returns undefined without such a resource. */
  userOf(target: string, targetId: string): { readonly source: string; readonly id: string } | undefined
}

/**
 * Opens the links of a database.
 * @param targets tables that resources can reference.
 */
export function openLinks(database: DatabaseSync, targets: readonly string[]): Links {
  const exists = new Map(
    targets.map((table) => [table, database.prepare(`SELECT 1 FROM ${table} WHERE id = ?`)] as const),
  )
  const clear = database.prepare('DELETE FROM links WHERE source = ? AND source_id = ?')
  const add = database.prepare('INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)')
  const user = database.prepare(
    `SELECT source, source_id FROM links WHERE target = ? AND target_id = ?
     AND NOT (source = target AND source_id = target_id) LIMIT 1`,
  )
  return {
    missing: (links) => links.find(({ target, id }) => exists.get(target)?.get(id) === undefined),
    write: (source, sourceId, links) => {
      clear.run(source, sourceId)
      for (const { target, id } of links) add.run(source, sourceId, target, id)
    },
    userOf: (target, targetId) => {
      const row = user.get(target, targetId)
      return row === undefined ? undefined : { source: String(row['source']), id: String(row['source_id']) }
    },
  }
}
