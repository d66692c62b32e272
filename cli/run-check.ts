import { resolve } from 'node:path'
import { findConfigDir } from '../runtime/config-dir.ts'
import { check } from './check.ts'
import type { Given } from './read-arguments.ts'
import type { Terminal } from './terminal.ts'

/** Runs `check` for the command line: folders relative to where it was typed, colour where there is a terminal. */
export function runCheck(given: Given, terminal: Terminal): Promise<number> {
  const [config, policies] = [given.text('config'), given.text('policies')]
  return check({
    configDir: config === undefined ? findConfigDir(terminal.env) : resolve(terminal.folder, config),
    policiesDir: policies === undefined ? undefined : resolve(terminal.folder, policies),
    notes: given.has('notes'),
    out: terminal.out,
    colour: terminal.colour,
    env: terminal.env,
  })
}
