import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { UpstreamsFile } from './upstreams-file.ts'

/** Reports C303 for an undefined `authorizationServer.upstream`. */
export function findUnknownUpstream(
  file: GatewayFile,
  upstreams: UpstreamsFile,
  shownAs: string,
): readonly Diagnostic[] {
  const name = file.authorizationServer?.upstream
  if (name === undefined || Object.hasOwn(upstreams, name)) return []
  return [
    diagnostic('C303', `authorizationServer.upstream: unknown upstream "${name}"`, wholeFile(shownAs), {
      hint: `config/upstreams.yaml has ${Object.keys(upstreams).join(', ')}`,
    }),
  ]
}
