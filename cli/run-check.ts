import { check } from './check.ts'
import { findFolders } from './find-folders.ts'
import type { Given } from './read-arguments.ts'
import type { Terminal } from './terminal.ts'

/** Runs `check` for the command line: folders relative to where it was typed, colour where there is a terminal. */
export function runCheck(given: Given, terminal: Terminal): Promise<number> {
  return check({
    ...findFolders(given, terminal),
    notes: given.has('notes'),
    out: terminal.out,
    colour: terminal.colour,
    env: terminal.env,
  })
}
