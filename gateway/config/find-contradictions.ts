import type { LocationOf } from '../../platform/config/read-config.ts'
import { type Diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { findAssertionTtl } from './find-assertion-ttl.ts'
import { findCaWithoutTls } from './find-ca-without-tls.ts'
import { findDrainOrder } from './find-drain-order.ts'
import { findInvalidUrls } from './find-invalid-urls.ts'
import { findOverloadOrder } from './find-overload-order.ts'
import { findPlainBaseUrl } from './find-plain-base-url.ts'
import { findUnknownUpstream } from './find-unknown-upstream.ts'
import { findUntrustedCertificates } from './find-untrusted-certificates.ts'
import { findUnusableEvents } from './find-unusable-events.ts'
import { findUnusableIssuers } from './find-unusable-issuers.ts'
import { findUnusableResources } from './find-unusable-resources.ts'
import { findUnusedAliases } from './find-unused-aliases.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { UpstreamsFile } from './upstreams-file.ts'

type ReadFile<T> = { readonly value: T; readonly file: string; readonly placeOf?: LocationOf }

/**
 * Reports errors in files that match their schemas. It needs no other input: no secrets, no certificates, no network. A
 * file that could not be read is skipped.
 */
export function findContradictions(
  gateway: ReadFile<GatewayFile> | undefined,
  upstreams: ReadFile<UpstreamsFile> | undefined,
): readonly Diagnostic[] {
  const problems: Diagnostic[] = []
  if (upstreams !== undefined)
    for (const find of [findInvalidUrls, findCaWithoutTls])
      problems.push(...find(upstreams.value, displayPath(upstreams.file)))
  if (gateway === undefined) return problems
  const shownAs = displayPath(gateway.file)
  if (upstreams !== undefined) problems.push(...findUnknownUpstream(gateway.value, upstreams.value, shownAs))
  const placeOf = gateway.placeOf ?? (() => wholeFile(shownAs))
  for (const find of [findUnusableIssuers, findPlainBaseUrl]) problems.push(...find(gateway.value, placeOf))
  for (const find of [
    findUnusableEvents,
    findUnusableResources,
    findUnusedAliases,
    findAssertionTtl,
    findDrainOrder,
    findOverloadOrder,
    findUntrustedCertificates,
  ])
    problems.push(...find(gateway.value, shownAs))
  return problems
}
