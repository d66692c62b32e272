import { fileURLToPath } from 'node:url'
import type { Target } from './load/load.ts'
import { type StartOptions, startProcess, whenReady } from './start-process.ts'
import type { Subject } from './subject.ts'

/**
 * Starts a program from `subjects/` in front of `upstream`.
 * @param options.target the request to the peer. The origin of the peer replaces the origin of `url`.
 * @throws {BenchError} ERR_BENCH_START if the program does not start.
 */
export async function startPeer(
  options: Pick<StartOptions, 'name' | 'cores' | 'cleanup'> & {
    readonly program: string
    readonly upstream: string
    readonly target: Target
  },
): Promise<Subject> {
  const { name, cores, cleanup, program, upstream, target } = options
  const file = fileURLToPath(new URL(`./subjects/${program}.ts`, import.meta.url))
  const started = startProcess({
    name,
    command: [process.execPath, file],
    cores,
    env: { BENCH_UPSTREAM: upstream },
    cleanup,
  })
  const { url } = await whenReady(started)
  return {
    name,
    process: started,
    core: cores,
    target: { ...target, url: new URL(new URL(target.url).pathname, String(url)).href },
  }
}
