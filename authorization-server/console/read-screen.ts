import { setImmediate } from 'node:timers/promises'
import type { ListedArtifact, Store } from '../store/store.ts'

/** Rows of one page of a list. */
export const SCREEN_ROWS = 50
/**
 * Maximum number of pages of the store that one page of a list reads. SQLite and PostgreSQL return 500 artifacts in a
 * page.
 */
const MAX_STORE_PAGES = 20

export type Screen<Row> = {
  readonly rows: readonly Row[]
  /** Position of the next page. Undefined: this page is the last page. */
  readonly next: string | undefined
}

/**
 * Reads one page of a list. The order is the order of the store, because a sorted list would need all artifacts. If the
 * filter selects few artifacts, the page can have fewer rows than {@link SCREEN_ROWS} although other pages follow.
 * @param toRow returns undefined for an artifact that the filter omits.
 * @param position `next` of the page before. Comes from outside.
 */
export async function readScreen<Row>(
  store: Pick<Store, 'artifacts'>,
  model: string,
  toRow: (artifact: ListedArtifact) => Row | undefined,
  position: string | null,
): Promise<Screen<Row>> {
  const artifacts = store.artifacts(model)
  let { after, cursor } = parsePosition(position ?? '')
  const rows: Row[] = []
  for (let read = 0; read < MAX_STORE_PAGES; read += 1) {
    const page = await artifacts.list(cursor)
    for (const artifact of page.listed.toSorted(byIdHash)) {
      if (artifact.idHash <= after) continue
      const row = toRow(artifact)
      if (row !== undefined && rows.length === SCREEN_ROWS) return { rows, next: toPosition(after, cursor) }
      if (row !== undefined) rows.push(row)
      after = artifact.idHash
    }
    if (page.next === undefined) return { rows, next: undefined }
    cursor = page.next
    after = ''
    await setImmediate() // SQLite calls are synchronous, so other requests run between two pages
  }
  return { rows, next: toPosition(after, cursor) }
}

/** A position is the hash of the last artifact, and the cursor of the page of the store that contains this artifact. */
function toPosition(after: string, cursor: string | undefined): string {
  return `${after}~${cursor ?? ''}`
}

const POSITION = /^([\w-]{0,64})~([\w -]{0,128})$/

function parsePosition(text: string): { after: string; cursor: string | undefined } {
  const [, after = '', cursor = ''] = POSITION.exec(text) ?? []
  return { after, cursor: cursor === '' ? undefined : cursor }
}

function byIdHash(a: ListedArtifact, b: ListedArtifact): number {
  return a.idHash < b.idHash ? -1 : 1
}
