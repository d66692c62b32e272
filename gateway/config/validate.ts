import type { LocationOf } from '../../platform/config/read-config.ts'
import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { displayPath } from '../../platform/diagnostics/display-path.ts'
import { findConnectionFaults } from '../../platform/redis/check-connection.ts'
import { foldHeaderName, headerKind } from '../../policy-engine/match/header-kind.ts'
import { isProtectedAddress } from '../tokens/jwt/is-protected-address.ts'
import { basePathOf } from '../upstreams/base-path-of.ts'
import { HEADER_FAMILIES, toDecisionHeaders } from './decision-headers.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'
import { toOverloadLimits } from './overload-file.ts'
import { milliseconds } from './to-numbers.ts'
import { addressesOf, type UpstreamsFile } from './upstreams-file.ts'
import { findUnusableEvents, findUnusableIssuers } from './validate-issuers.ts'
import { findUnusableSources } from './validate-policy-sources.ts'
import { findUnusableResources, findUnusedAliases } from './validate-resources.ts'

type ReadFile<T> = { readonly value: T; readonly file: string; readonly locationOf?: LocationOf }

/**
 * Reports errors in files that match their schemas. The function needs no other input, such as secrets, certificates or
 * the network. Skips unreadable files.
 */
export function validateConfig(
  gateway: ReadFile<GatewayFile> | undefined,
  upstreams: ReadFile<UpstreamsFile> | undefined,
): readonly Diagnostic[] {
  const problems: Diagnostic[] = []
  if (upstreams !== undefined)
    problems.push(...findInvalidUpstreams(upstreams.value, displayPath(upstreams.file)))
  if (gateway === undefined) return problems
  const shownAs = displayPath(gateway.file)
  if (upstreams !== undefined)
    problems.push(
      ...findUnknownUpstream(gateway.value, upstreams.value, shownAs),
      ...findServerCredentials(gateway.value, upstreams.value, displayPath(upstreams.file)),
      ...findExposedCredentials(upstreams.value, displayPath(upstreams.file)),
    )
  const locationOf = gateway.locationOf ?? (() => wholeFile(shownAs))
  for (const find of [findUnusableIssuers, findPlainBaseUrl, findUnusableRedis])
    problems.push(...find(gateway.value, locationOf))
  problems.push(...findUnusableSources(gateway.value, upstreams?.value, locationOf))
  for (const find of [
    findUnusableEvents,
    findUnusableResources,
    findUnusedAliases,
    findAssertionTtl,
    findDrainOrder,
    findOverloadOrder,
    findUntrustedCertificates,
    findUntrustedDecisions,
    findUnusableHeaders,
  ])
    problems.push(...find(gateway.value, shownAs))
  return problems
}

/** Reports problems of upstreams: C307, C308, C312, C313, C316, C317, C318, C323 to C326. */
export function findInvalidUpstreams(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return [
    findInvalidUrls,
    findInvalidWeights,
    findUnverifiableTargets,
    findUnusedQueues,
    findUnusableCertificates,
    findInvalidCredentials,
  ].flatMap((find) => find(upstreams, shownAs))
}

/** Reports C321 for an http `baseUrl` if the gateway itself terminates TLS: clients could not use that URL. */
function findPlainBaseUrl(file: GatewayFile, locationOf: LocationOf): readonly Diagnostic[] {
  if (file.tls === undefined || file.baseUrl.startsWith('https://')) return []
  return [
    diagnostic(
      'C321',
      `baseUrl: ${file.baseUrl} must use https, because tls is set`,
      locationOf(['baseUrl']),
      {
        hint: 'set the https address that clients use, or remove tls',
      },
    ),
  ]
}

/** Reports C311 for settings of a Redis that contradict each other. */
function findUnusableRedis(file: GatewayFile, locationOf: LocationOf): readonly Diagnostic[] {
  return (['redis', 'revocationRedis'] as const).flatMap((setting) => {
    const connection = file[setting]
    if (connection === undefined) return []
    return findConnectionFaults(connection, setting).map(({ message, hint }) =>
      diagnostic('C311', message, locationOf([setting]), { hint }),
    )
  })
}

/** Reports C303 for an undefined `authorizationServer.upstream`. */
function findUnknownUpstream(
  file: GatewayFile,
  upstreams: UpstreamsFile,
  shownAs: string,
): readonly Diagnostic[] {
  const name = file.authorizationServer?.upstream
  if (name === undefined || Object.hasOwn(upstreams, name)) return []
  return [
    diagnostic('C303', `authorizationServer.upstream: unknown upstream "${name}"`, wholeFile(shownAs), {
      hint: `known: ${Object.keys(upstreams).join(', ')}`,
    }),
  ]
}

/**
 * Reports C307 unless an upstream has exactly one of `url`, `urls` and `srv`. Reports C308 if the URLs of an upstream have
 * different paths, because the path is the common prefix of every request.
 */
function findInvalidUrls(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, upstream]) => {
    const { url, urls, srv } = upstream
    if ([url, urls, srv].filter((one) => one !== undefined).length !== 1)
      return [
        diagnostic('C307', `${name}: set exactly one of url, urls and srv`, wholeFile(shownAs), {
          hint: 'use url for one address, urls for several, and srv for the name of SRV records',
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

/** Reports C318 unless each address of an upstream has a weight, and at least one weight is above 0. */
function findInvalidWeights(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, one]) => {
    const { weights } = one
    if (weights === undefined) return []
    if (one.srv !== undefined)
      return [
        diagnostic('C318', `${name}.weights: SRV records have their own weights`, wholeFile(shownAs), {
          hint: 'remove weights, or replace srv with urls',
        }),
      ]
    const count = addressesOf(one).length
    if (weights.length !== count)
      return [
        diagnostic(
          'C318',
          `${name}.weights: number of weights (${weights.length}) differs from the number of addresses (${count})`,
          wholeFile(shownAs),
          { hint: 'write one weight for each address, in the order of urls' },
        ),
      ]
    if (weights.some((weight) => weight > 0)) return []
    return [
      diagnostic('C318', `${name}.weights: all weights are 0`, wholeFile(shownAs), {
        hint: 'set the weight of at least one address to 1 or more',
      }),
    ]
  })
}

/**
 * Reports C326 for `srv` with https and public CA certificates. DNS selects the host name that the certificate must
 * have. A public CA signs a certificate for any name that the applicant controls. An attacker with a forged record
 * could therefore read requests.
 */
function findUnverifiableTargets(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams)
    .filter(([, { srv, caFile }]) => srv?.startsWith('https:') === true && caFile === undefined)
    .map(([name]) =>
      diagnostic('C326', `${name}.srv: https requires caFile`, wholeFile(shownAs), {
        hint: 'set caFile to a CA that signs only certificates of this upstream, because DNS selects the host names',
      }),
    )
}

/** Reports C317 for a queue setting without the setting on which its effect depends. */
function findUnusedQueues(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, one]) =>
    (
      [
        ['maxPendingRequests', 'maxConnections'],
        ['queueTimeout', 'maxPendingRequests'],
      ] as const
    )
      .filter(([key, needed]) => one[key] !== undefined && one[needed] === undefined)
      .map(([key, needed]) =>
        diagnostic('C317', `${name}.${key}: has no effect without ${needed}`, wholeFile(shownAs), {
          hint: `set ${needed}, or remove ${key}`,
        }),
      ),
  )
}

/**
 * Reports C324 unless an upstream has both or neither of `certFile` and `keyFile`. Reports C323 for `caFile` or
 * `certFile` of an upstream with an http URL: certificates require TLS.
 */
function findUnusableCertificates(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, one]) => {
    if ((one.certFile === undefined) !== (one.keyFile === undefined))
      return [
        diagnostic('C324', `${name}: set certFile and keyFile together`, wholeFile(shownAs), {
          hint: 'a client certificate needs its private key: add the missing file, or remove the other one',
        }),
      ]
    if (addressesOf(one).every((url) => url.startsWith('https:'))) return []
    return (['caFile', 'certFile'] as const)
      .filter((key) => one[key] !== undefined)
      .map((key) =>
        diagnostic(
          'C323',
          `${name}.${key}: every address of the upstream must use https`,
          wholeFile(shownAs),
          {
            hint: `use https addresses, or remove ${key}`,
          },
        ),
      )
  })
}

/**
 * Reports C312 unless credentials have exactly one kind. Reports C313 for a header that the gateway uses for another
 * purpose, because the upstream would get a wrong identity or no valid request. Reports C325 unless a token endpoint has
 * one kind of client authentication, and C316 and C323 for a token endpoint without https.
 */
function findInvalidCredentials(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, { credentials }]) => {
    if (credentials === undefined) return []
    const setting = `${name}.credentials`
    if (Object.keys(credentials).length !== 1)
      return [
        diagnostic(
          'C312',
          `${setting}: set exactly one of header, basic and clientCredentials`,
          wholeFile(shownAs),
          {
            hint: 'use header for an API key, basic for a user name with a password, and clientCredentials for a token',
          },
        ),
      ]
    const {
      tokenEndpoint = '',
      caFile,
      clientSecretFile,
      privateKeyJwt,
      authMethod,
    } = credentials.clientCredentials ?? {}
    if (
      credentials.clientCredentials !== undefined &&
      ((clientSecretFile === undefined) === (privateKeyJwt === undefined) ||
        (privateKeyJwt !== undefined && authMethod !== undefined))
    )
      return [
        diagnostic(
          'C325',
          `${setting}.clientCredentials: set either clientSecretFile (with authMethod) or privateKeyJwt`,
          wholeFile(shownAs),
          { hint: 'keep the keys of the client authentication that the authorization server expects' },
        ),
      ]
    if (credentials.clientCredentials !== undefined && !isProtectedAddress(tokenEndpoint))
      return [
        diagnostic(
          'C316',
          `${setting}.clientCredentials.tokenEndpoint: the endpoint must use https, because the gateway sends its client secret`,
          wholeFile(shownAs),
          { hint: 'use https. http is allowed on this machine' },
        ),
      ]
    if (caFile !== undefined && !tokenEndpoint.startsWith('https:'))
      return [
        diagnostic(
          'C323',
          `${setting}.clientCredentials.caFile: the token endpoint must use https`,
          wholeFile(shownAs),
          { hint: 'use an https address, or remove caFile' },
        ),
      ]
    const header = credentials.header?.name
    if (header === undefined || isCredentialHeader(header)) return []
    return [
      diagnostic(
        'C313',
        `${setting}.header.name: the gateway cannot send a credential in ${header}`,
        wholeFile(shownAs),
        { hint: 'use Authorization, or a header that has no meaning for HTTP or for the gateway' },
      ),
    ]
  })
}

/** Headers that describe the request, its content or its origin. `headerKind` does not name these headers. */
const DESCRIBES_REQUEST =
  /^(?:accept|cache-control|date|from|max-forwards|origin|pragma|prefer|range|referer|traceparent|tracestate)$|^(?:accept|access-control|content|if|sec)-/

/** `headerKind` names the headers that HTTP or the gateway uses. */
function isCredentialHeader(name: string): boolean {
  const lower = name.toLowerCase()
  const kind = headerKind(lower)
  return kind === 'authorization' || (kind === undefined && !DESCRIBES_REQUEST.test(foldHeaderName(lower)))
}

/** Warns (C319) of credentials that the gateway sends to another machine without TLS. */
function findExposedCredentials(upstreams: UpstreamsFile, shownAs: string): readonly Diagnostic[] {
  return Object.entries(upstreams).flatMap(([name, one]) => {
    const exposed = one.credentials && addressesOf(one).find((url) => !isProtectedAddress(url))
    if (exposed === undefined) return []
    return [
      diagnostic(
        'C319',
        `${name}.credentials: the gateway sends the credential without TLS to ${exposed}`,
        wholeFile(shownAs),
        {
          severity: 'warning',
          hint: 'use an https address. Otherwise, everyone on the network can read the credential',
        },
      ),
    ]
  })
}

/** Reports C314 for credentials at the authorization server, which authenticates the clients by their own headers. */
function findServerCredentials(
  file: GatewayFile,
  upstreams: UpstreamsFile,
  shownAs: string,
): readonly Diagnostic[] {
  const name = file.authorizationServer?.upstream
  if (name === undefined || !Object.hasOwn(upstreams, name) || upstreams[name]?.credentials === undefined)
    return []
  return [
    diagnostic(
      'C314',
      `${name}.credentials: the authorization server cannot have credentials`,
      wholeFile(shownAs),
      {
        hint: 'remove credentials: the authorization server needs the Authorization header of its clients',
      },
    ),
  ]
}

/**
 * Reports C305 unless `assertion.ttl` is 5 s to 60 s in whole seconds. A stolen assertion is usable until it expires,
 * so the lifetime must be short. The lifetime must also be longer than the delivery of the assertion.
 */
function findAssertionTtl(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const ttlMs = milliseconds(file.assertion?.ttl ?? DEFAULTS.assertionTtl)
  if (ttlMs >= 5_000 && ttlMs <= 60_000 && ttlMs % 1_000 === 0) return []
  return [
    diagnostic(
      'C305',
      'assertion.ttl: the lifetime must be 5s to 60s, in whole seconds',
      wholeFile(shownAs),
      {
        hint: 'remove assertion.ttl to use 60s',
      },
    ),
  ]
}

/**
 * Reports C309 unless the drain delay is below the grace period. The grace period includes the delay, and open requests
 * need the rest of the grace period.
 */
function findDrainOrder(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const { delay, grace } = { ...DEFAULTS.drain, ...file.drain }
  if (milliseconds(delay) < milliseconds(grace)) return []
  return [
    diagnostic('C309', `drain: delay (${delay}) must be less than grace (${grace})`, wholeFile(shownAs), {
      hint: 'grace starts at the signal and includes the delay: set drain.grace to the delay plus the duration of your longest requests',
    }),
  ]
}

/**
 * Reports C310 if `close` is above `refuse`. The gateway must close connections before it rejects requests, because
 * closed connections affect clients less.
 */
function findOverloadOrder(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const { heap, memory, loop } = toOverloadLimits(file.overload)
  return Object.entries({ heap, memory, loopDelay: loop }).flatMap(([name, { close, refuse }]) =>
    close <= refuse
      ? []
      : [
          diagnostic('C310', `overload.${name}: close must not exceed refuse`, wholeFile(shownAs), {
            hint: 'the gateway closes connections before it rejects requests: set close to at most refuse',
          }),
        ],
  )
}

/**
 * Reports C351 for a `clientCertificateHeader` without `trustedProxies`. The header is honored only from trusted
 * proxies, so without trusted proxies the header would have no effect.
 */
export function findUntrustedCertificates(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  if (file.clientCertificateHeader === undefined || (file.trustedProxies ?? []).length > 0) return []
  return [
    diagnostic('C351', 'clientCertificateHeader: has no effect without trustedProxies', wholeFile(shownAs), {
      hint: 'add the proxies that set the header to trustedProxies',
    }),
  ]
}

/** Reports C352 for `decisions` without `trustedProxies`: the gateway would reject each request for a decision. */
export function findUntrustedDecisions(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  if (file.decisions === undefined || (file.trustedProxies ?? []).length > 0) return []
  return [
    diagnostic('C352', 'decisions: has no effect without trustedProxies', wholeFile(shownAs), {
      hint: 'add the addresses of the ingress to trustedProxies',
    }),
  ]
}

/** Reports C353 for `decisions.headers` with a protocol without these headers, or with a name for two values. */
export function findUnusableHeaders({ decisions }: GatewayFile, shownAs: string): readonly Diagnostic[] {
  const { headers, protocol } = decisions ?? {}
  if (headers === undefined || protocol === undefined) return []
  const report = (problem: string, hint: string) => [
    diagnostic('C353', `decisions.headers: ${problem}`, wholeFile(shownAs), { hint }),
  ]
  if (protocol === 'ext-authz-http' || protocol === 'ext-authz-grpc')
    return report(`has no effect with the protocol ${protocol}`, 'remove decisions.headers')
  const names = Object.entries({ ...HEADER_FAMILIES[protocol], ...toDecisionHeaders(headers) })
  const usual = Object.values(HEADER_FAMILIES).flatMap((family) => Object.entries(family))
  for (const [key, name] of names) {
    const isOther = ([otherKey, otherName]: readonly [string, string]) =>
      otherKey !== key && otherName === name
    const other = names.find(isOther)
    if (other !== undefined)
      return report(
        `${key} and ${other[0]} must have different names (got ${name})`,
        'name one header for each value',
      )
    const reserved = usual.find(isOther)
    if (reserved !== undefined)
      return report(
        `${key} must not have the usual name of ${reserved[0]} (got ${name})`,
        'choose another name',
      )
  }
  return []
}
