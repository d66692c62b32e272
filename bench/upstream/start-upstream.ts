import { fileURLToPath } from 'node:url'
import type { Cleanup } from '../cleanup.ts'
import { startNginx } from '../peers/start-nginx.ts'
import { startProcess, whenReady } from '../start-process.ts'
import { UPSTREAM_RESPONSE } from './response.ts'

/** `name` includes the version. */
export type Upstream = { readonly name: string; readonly url: string }

type Options = { readonly cores: string | undefined; readonly folder: string; readonly cleanup: Cleanup }

/**
 * Starts an upstream that responds to every request with UPSTREAM_RESPONSE. The upstream is nginx if nginx is
 * installed, and otherwise a Node.js process.
 * @throws {BenchError} ERR_BENCH_START if the upstream does not start.
 */
export async function startUpstream(options: Options): Promise<Upstream> {
  const nginx = await startNginx({
    ...options,
    name: 'upstream',
    location: `return 200 '${UPSTREAM_RESPONSE}';`,
  })
  return nginx === undefined ? startNodeUpstream(options) : { name: nginx.version, url: nginx.url }
}

async function startNodeUpstream({ cores, cleanup }: Options): Promise<Upstream> {
  const file = fileURLToPath(new URL('./node-upstream.ts', import.meta.url))
  const started = startProcess({ name: 'upstream', command: [process.execPath, file], cores, cleanup })
  const { url } = await whenReady(started)
  return {
    name: `Node.js ${process.versions.node} on plain sockets (nginx is not installed)`,
    url: String(url),
  }
}
