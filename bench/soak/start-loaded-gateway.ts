import { fileURLToPath } from 'node:url'
import type { Cleanup } from '../cleanup.ts'
import { startProcess, whenReady } from '../start-process.ts'
import { type SoakGateway, startSoakGateway } from './start-soak-gateway.ts'

/** The upstream runs in another process, and responds immediately. */
export async function startLoadedGateway(options: {
  readonly folder: string
  readonly cleanup: Cleanup
  readonly settings: Readonly<Record<string, unknown>>
}): Promise<SoakGateway> {
  const { folder, cleanup, settings } = options
  const upstream = startProcess({
    name: 'upstream',
    command: [process.execPath, fileURLToPath(new URL('../upstream/node-upstream.ts', import.meta.url))],
    cores: undefined,
    cleanup,
  })
  const { url } = await whenReady(upstream)
  return startSoakGateway({ folder, cleanup, upstream: String(url), settings })
}
