import type { Cleanup } from '../cleanup.ts'
import { findProgram } from '../find-program.ts'
import type { Load } from './load.ts'
import { startNodeLoad } from './node-load.ts'
import { createWrkLoad } from './wrk-load.ts'

/** Starts wrk if wrk is installed, and otherwise a Node.js process. */
export function startLoad(options: {
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
}): Promise<Load> | Load {
  const wrk = findProgram('wrk')
  return wrk === undefined ? startNodeLoad(options) : createWrkLoad({ ...options, program: wrk })
}
