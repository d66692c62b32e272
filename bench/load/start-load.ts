import type { Cleanup } from '../cleanup.ts'
import { findProgram } from '../find-program.ts'
import type { Load } from './load.ts'
import { startNodeLoad } from './node-load.ts'
import { createWrkLoad } from './wrk-load.ts'

/** Gives the load generator of this machine: wrk where it is installed, else our own in a process of its own. */
export function startLoad(options: {
  readonly cores: string | undefined
  readonly folder: string
  readonly cleanup: Cleanup
}): Promise<Load> | Load {
  const wrk = findProgram('wrk')
  return wrk === undefined ? startNodeLoad(options) : createWrkLoad({ ...options, program: wrk })
}
