import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { addressesOf, type UpstreamsFile } from './upstreams-file.ts'

/** Reports C323 for an upstream with a `caFile` and an http URL: a CA certificate requires TLS. */
export function findCaWithoutTls(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams)
    .filter(([, one]) => one.caFile !== undefined && addressesOf(one).some((url) => url.startsWith('http:')))
    .map(([name]) =>
      diagnostic('C323', `${name}.caFile: every address of the upstream must use https`, wholeFile(shownAs), {
        hint: 'use https addresses, or remove caFile',
      }),
    )
}
