const PARENT_CHECK_MS = 250

/**
 * Resolves once this process should end: Ctrl-C, SIGTERM, or, below an npm script, the script's shell going away.
 * npm hands SIGTERM to that shell only, and a shell that dies of it leaves its program running.
 */
export function whenToldToEnd(env: Readonly<Record<string, string | undefined>>): Promise<'told to end'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => resolve('told to end'))
    if (env['npm_lifecycle_event'] === undefined) return
    const parent = process.ppid
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      resolve('told to end')
    }, PARENT_CHECK_MS)
    timer.unref()
  })
}
