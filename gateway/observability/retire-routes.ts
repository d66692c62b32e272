/** Delay of the removal. It lets open requests finish, and lets the last values be scraped. Milliseconds. */
const RETIRE_AFTER_MS = 600_000

/**
 * Calls `forget` for routes that were removed from the policies, after a delay. Otherwise frequent renames would fill
 * the memory with names. A route that has returned by then stays.
 * @returns a function that receives the active routes.
 */
export function retireRoutes(
  forget: (route: string) => void,
  afterMs = RETIRE_AFTER_MS,
): (routes: readonly { readonly name: string }[]) => void {
  let present: ReadonlySet<string> = new Set()
  return (routes) => {
    const now = new Set(routes.map(({ name }) => name))
    const gone = [...present].filter((name) => !now.has(name))
    present = now
    if (gone.length === 0) return
    setTimeout(() => {
      for (const name of gone) if (!present.has(name)) forget(name)
    }, afterMs).unref()
  }
}
