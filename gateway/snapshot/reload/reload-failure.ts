/**
 * Cause of a reload that ended before the gateway knew whether the policies are valid.
 * - `workers_exited`: each worker that got the policies exited before it had checked them.
 * - `no_worker_ready`: at the start of the reload, all workers were down.
 * - `stopping`: the gateway shuts down.
 * - `internal_error`: the gateway has a defect.
 */
export type ReloadFailure = 'workers_exited' | 'no_worker_ready' | 'stopping' | 'internal_error'

/** Explanations for operators: in the log, in the response to `POST /reload`, in `/readyz?verbose` and in the console. */
export const RELOAD_FAILURES: Readonly<
  Record<ReloadFailure, { readonly cause: string; readonly remedy: string }>
> = {
  workers_exited: {
    cause:
      'Each worker that got the policies exited before it had checked them. The earlier policies stay active.',
    remedy:
      'Read exit_code and signal in the log lines worker_crashed. After SIGABRT or SIGKILL, give the gateway more memory. Then reload again.',
  },
  no_worker_ready: {
    cause: 'No worker is ready to check the policies. The earlier policies stay active.',
    remedy:
      'Wait until /readyz?verbose shows a ready worker, and reload again. The log lines worker_crashed show why the workers exited.',
  },
  stopping: {
    cause: 'The gateway shuts down, so the reload has no result.',
    remedy: 'Start the gateway again. It reads the policies at its start.',
  },
  internal_error: {
    cause: 'A defect of the gateway prevented the check of the policies. The earlier policies stay active.',
    remedy:
      'Report the error. It is in the log line policy_reload_internal_error, or in the line uncaught_exception of a worker.',
  },
}

/** Returns the cause and the remedy in one text. */
export function explainFailure(failure: ReloadFailure): string {
  const { cause, remedy } = RELOAD_FAILURES[failure]
  return `${cause} ${remedy}`
}
