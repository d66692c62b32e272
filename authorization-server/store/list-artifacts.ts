import type { ListedArtifact, Store } from './store.ts'

/**
 * Yields the artifacts of a model that have not expired. Yields each artifact only once. See `ArtifactStore.list()`.
 */
export async function* listArtifacts(
  store: Pick<Store, 'artifacts'>,
  model: string,
): AsyncGenerator<ListedArtifact> {
  const seen = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await store.artifacts(model).list(cursor)
    for (const artifact of page.listed) {
      if (seen.has(artifact.idHash)) continue
      seen.add(artifact.idHash)
      yield artifact
    }
    cursor = page.next
  } while (cursor !== undefined)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
