import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BootError } from '../runtime/boot-error.ts'
import { displayPath } from '../runtime/display-path.ts'
import { makeFolder } from '../runtime/make-folder.ts'
import { findPackageRoot } from '../runtime/package-root.ts'
import { COPIED_FILES, STARTER_FILES } from './init/starter-files.ts'
import type { Given } from './read-arguments.ts'
import type { Terminal } from './terminal.ts'

const EXIT_THERE = 1
/** Less what the user's umask takes away, as `mkdir` makes folders. */
const FOR_EVERYBODY = 0o777

/** Writes a folder to start from. @returns the exit code, as its help says. */
export async function init(given: Given, terminal: Terminal): Promise<number> {
  const dir = resolve(terminal.folder, given.words[0] ?? '.')
  const copied = COPIED_FILES.map(
    (name) => [name, readFileSync(join(findPackageRoot(), name), 'utf8')] as const,
  )
  const files = [...copied, ...Object.entries(STARTER_FILES)].map(([name, text]) => ({
    file: join(dir, name),
    text,
  }))
  const there = files.filter(({ file }) => existsSync(file)).map(({ file }) => displayPath(file))
  if (there.length > 0) {
    terminal.err.write(
      `scopegate init: nothing was written, because this is there already: ${there.join(', ')}\n`,
    )
    return EXIT_THERE
  }
  for (const { file, text } of files) write(file, text)
  const written = files.map(({ file }) => displayPath(file))
  if (given.has('json')) terminal.out.write(`${JSON.stringify({ written }, undefined, 2)}\n`)
  else terminal.out.write(`${written.join('\n')}\n\nNow: read ${displayPath(join(dir, 'README.md'))}\n`)
  return 0
}

/** `wx`: what came there meanwhile stays. */
function write(file: string, text: string): void {
  try {
    makeFolder(dirname(file), FOR_EVERYBODY)
    writeFileSync(file, text, { flag: 'wx' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BootError(
      'ERR_INIT',
      `scopegate init: ${displayPath(file)} cannot be written (${reason}). Name a folder of your own: scopegate init DIR`,
      { cause },
    )
  }
}
