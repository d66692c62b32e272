import type { Document } from '../../../examples/learning-platform/families/json-schema.ts'
import type { Answer } from '../../fixtures/send.ts'

/** Follows the `next` links of all pages, and collects the items. Each response must have status 200. */
export async function readAll(
  ask: (path: string) => Promise<Answer>,
  path: string,
  limit: number,
): Promise<readonly Document[]> {
  const items: Document[] = []
  let cursor = ''
  do {
    const { status, json } = await ask(`${path}?limit=${limit}${cursor}`)
    if (status !== 200) throw new Error(`${path} answered ${status}`)
    items.push(...(json['items'] as readonly Document[]))
    cursor = json['next'] === null ? '' : `&cursor=${String(json['next'])}`
  } while (cursor !== '')
  return items
}
