const PARENT_CHECK_MS = 250

/**
 * Resolves when this process should exit: after Ctrl-C, SIGTERM or SIGHUP. In an npm script, the promise also resolves
 * when the script's shell exits. npm sends SIGTERM only to that shell, and the shell does not stop this process.
 */
export function stopRequest(env: Readonly<Record<string, string | undefined>>): Promise<'stop'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve('stop'))
    if (env['npm_lifecycle_event'] === undefined) return
    const parent = process.ppid
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      resolve('stop')
    }, PARENT_CHECK_MS)
    timer.unref()
  })
}
