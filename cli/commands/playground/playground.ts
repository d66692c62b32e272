import { resolve } from 'node:path'
import type { ParsedArguments } from '../../command.ts'
import { usageError } from '../../failures.ts'
import { stopRequest } from '../../stop-request.ts'
import type { Terminal } from '../../terminal.ts'
import { readExample, readProject } from './initial-files.ts'
import { startPlayground } from './playground-server.ts'

/**
 * Serves the playground until Ctrl-C, or until the reader of the output has exited.
 * @returns the exit code.
 */
export async function playground(given: ParsedArguments, terminal: Terminal): Promise<number> {
  const [folder] = given.positionals
  const port = readPort(given.text('port'))
  const input = folder === undefined ? readExample() : await readProject(resolve(terminal.folder, folder))
  const stopped = Promise.race([stopRequest(terminal.env), terminal.readerGone])
  const server = await startPlayground({ port, input })
  try {
    terminal.out.write(`Scopegate playground: ${server.url}\nStop it with Ctrl-C.\n`)
    await stopped
    return 0
  } finally {
    await server.close()
  }
}

function readPort(text: string | undefined): number {
  if (text === undefined) return 0
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port < 65_536) return port
  throw usageError('playground', `--port takes a number from 0 to 65535, not "${text}"`)
}
