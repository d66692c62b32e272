/** Long enough for what is under way on a route, and for whoever reads metrics to read the last ones. Milliseconds. */
const RETIRE_AFTER_MS = 600_000

/**
 * Forgets routes that policies no longer name, some time after they are gone: whoever renames routes every day must not fill
 * the memory with names. One that is back by then stays.
 * @returns what is told of the routes that are in force.
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
