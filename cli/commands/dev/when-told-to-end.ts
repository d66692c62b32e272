const PARENT_CHECK_MS = 250

/**
 * Resolves when this process should exit: after Ctrl-C or SIGTERM. In an npm script, it also resolves when the script's
 * shell exits. npm sends SIGTERM only to that shell, and the shell does not stop its program.
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
