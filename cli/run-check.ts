import { resolve } from 'node:path'
import { findConfigDir } from '../runtime/config-dir.ts'
import { check } from './check.ts'

/** Runs `check` for the command line: folders relative to where it was typed, colour where there is a terminal. */
export function runCheck(options: {
  readonly config?: string | undefined
  readonly policies?: string | undefined
  readonly notes: boolean
}): Promise<number> {
  return check({
    configDir: options.config === undefined ? findConfigDir(process.env) : resolve(options.config),
    policiesDir: options.policies === undefined ? undefined : resolve(options.policies),
    notes: options.notes,
    out: process.stdout,
    colour: process.stdout.hasColors?.() ?? false,
    env: process.env,
  })
}
