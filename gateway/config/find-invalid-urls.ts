import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { basePathOf } from '../upstreams/base-path-of.ts'
import { addressesOf, type UpstreamsFile } from './upstreams-file.ts'

/**
 * Reports C307 unless an upstream has exactly one of `url` and `urls`. Reports C308 if its URLs have different paths,
 * because the path is the common prefix of every request.
 */
export function findInvalidUrls(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, upstream]) => {
    if ((upstream.url === undefined) === (upstream.urls === undefined))
      return [
        diagnostic('C307', `${name}: set exactly one of url and urls`, wholeFile(shownAs), {
          hint: 'use url for one address, and urls for several',
        }),
      ]
    if (new Set(addressesOf(upstream).map(basePathOf)).size < 2) return []
    return [
      diagnostic('C308', `${name}.urls: the addresses have different paths`, wholeFile(shownAs), {
        hint: 'use the same path in all of them, or define separate upstreams',
      }),
    ]
  })
}
