import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { BootError } from '../../../platform/diagnostics/boot-error.ts'
import { displayPath } from '../../../platform/diagnostics/display-path.ts'
import { makeFolder } from '../../../platform/process/make-folder.ts'
import { findPackageRoot } from '../../../platform/process/package-root.ts'
import type { ParsedArguments } from '../../command.ts'
import type { Terminal } from '../../terminal.ts'
import { schemaFiles } from '../schema/schemas.ts'
import { COPIED_FILES, STARTER_FILES, withoutDocumentReferences } from './starter-files.ts'

const EXIT_EXISTS = 1
/** The umask of the user restricts this mode, as for `mkdir`. */
const ALL_PERMISSIONS = 0o777

export async function init(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const dir = resolve(terminal.folder, given.positionals[0] ?? '.')
  const copied = COPIED_FILES.map((name) => {
    const text = readFileSync(join(findPackageRoot(), name), 'utf8')
    return [name, withoutDocumentReferences(text)] as const
  })
  const files = [...copied, ...Object.entries(STARTER_FILES), ...schemaFiles()].map(([name, text]) => ({
    file: join(dir, name),
    text,
  }))
  const there = files.filter(({ file }) => existsSync(file)).map(({ file }) => displayPath(file))
  if (there.length > 0) {
    terminal.err.write(
      `scopegate init: nothing was written, because these files exist: ${there.join(', ')}\n`,
    )
    return EXIT_EXISTS
  }
  for (const { file, text } of files) write(file, text)
  const written = files.map(({ file }) => displayPath(file))
  if (given.has('json')) terminal.out.write(`${JSON.stringify({ written }, undefined, 2)}\n`)
  else terminal.out.write(`${written.join('\n')}\n\nNext: read ${displayPath(join(dir, 'README.md'))}\n`)
  return 0
}

/** Writes a new file. The flag `wx` prevents overwriting a file that another process created in the meantime. */
function write(file: string, text: string): void {
  try {
    makeFolder(dirname(file), ALL_PERMISSIONS)
    writeFileSync(file, text, { flag: 'wx' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new BootError(
      'ERR_INIT',
      `scopegate init: ${displayPath(file)} cannot be written (${reason}). Choose a folder that you can write to: scopegate init DIR`,
      { cause },
    )
  }
}
