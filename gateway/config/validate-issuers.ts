import { ALGORITHMS } from '../../oauth/jwt/verification-key.ts'
import type { LocationOf } from '../../platform/config/read-config.ts'
import { type Diagnostic, diagnostic, wholeFile } from '../../platform/diagnostics/diagnostic.ts'
import { suggest } from '../../platform/diagnostics/schema/suggest.ts'
import type { YamlPath } from '../../platform/diagnostics/yaml/yaml-locations.ts'
import { isProtectedAddress } from '../tokens/jwt/is-protected-address.ts'
import { DEFAULTS } from './defaults.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { IssuerEntry } from './issuer-schema.ts'
import { milliseconds } from './to-numbers.ts'

type Problem = readonly [code: string, key: string, message: string, hint: string]

/**
 * Reports C329 to C339: duplicate issuers, issuers without a way to validate tokens, unsafe algorithms or keys, invalid
 * times, and a `caFile` without TLS.
 */
export function findUnusableIssuers(file: GatewayFile, locationOf: LocationOf): readonly Diagnostic[] {
  return file.issuers.flatMap((entry, index) => {
    const before = file.issuers.slice(0, index)
    return [
      ...findDuplicate(entry, before),
      ...findMissingValidation(entry),
      ...findUnsafeAlgorithms(entry),
      ...findUnsafeKeys(entry, file.baseUrl),
      ...findInvalidTimes(entry),
      ...findInvalidDelay(entry, file),
      ...findUnusedCa(entry),
    ].map(([code, key, message, hint]) =>
      diagnostic(
        code,
        `issuers[${index}]${key}: ${message}`,
        locationOf(['issuers', index, ...toPath(key)]),
        {
          hint,
        },
      ),
    )
  })
}

/** Converts a key such as `.jwt.algorithms[0]` into the steps of a path. */
function toPath(key: string): YamlPath {
  return [...key.matchAll(/\.(\w+)|\[(\d+)\]/g)].map(([, name, item]) => name ?? Number(item))
}

function findDuplicate({ issuer }: IssuerEntry, before: readonly IssuerEntry[]): readonly Problem[] {
  const first = before.findIndex((other) => other.issuer === issuer)
  if (first === -1) return []
  const hint = 'merge the two entries'
  return [['C330', '.issuer', `"${issuer}" is already defined in issuers[${first}]`, hint]]
}

function findMissingValidation({ jwt, introspection, revocations }: IssuerEntry): readonly Problem[] {
  if (introspection?.signed === true && jwt === undefined)
    return [
      [
        'C329',
        '.introspection.signed',
        'the gateway has no keys to verify introspection results',
        'add jwt: {}, because the keys of jwt also verify introspection results',
      ],
    ]
  if (jwt === undefined && introspection === undefined)
    return [
      [
        'C331',
        '',
        'the issuer needs jwt, introspection or both',
        'add jwt: {} to validate its JWTs, introspection to query its token status, or both',
      ],
    ]
  if (revocations !== undefined && introspection === undefined)
    return [
      [
        'C332',
        '.revocations',
        'the revocation stream requires the client credentials of introspection',
        'add introspection, or remove revocations',
      ],
    ]
  return []
}

function findUnsafeAlgorithms({ jwt }: IssuerEntry): readonly Problem[] {
  return (jwt?.algorithms ?? []).flatMap((name, index): readonly Problem[] => {
    if (ALGORITHMS.has(name)) return []
    const key = `.jwt.algorithms[${index}]`
    const some = `use ${[...ALGORITHMS.keys()].join(', ')}`
    if (/^none$/i.test(name)) return [['C333', key, 'tokens without a signature are not accepted', some]]
    if (/^hs\d+$/i.test(name))
      return [
        ['C333', key, `${name} is symmetric: a client that can verify such a token can also forge one`, some],
      ]
    const close = suggest(name, [...ALGORITHMS.keys()])
    return [
      [
        'C333',
        key,
        `"${name}" is not a supported signature algorithm`,
        close === undefined ? some : `did you mean ${close}?`,
      ],
    ]
  })
}

function findUnsafeKeys(entry: IssuerEntry, baseUrl: string): readonly Problem[] {
  const { issuer, jwt, introspection, securityEvents } = entry
  if (jwt === undefined) return []
  const { uri, file } = jwt.keys ?? {}
  if (uri !== undefined && file !== undefined)
    return [['C334', '.jwt.keys', 'set only one of uri and file', 'remove one of the two']]
  if (file !== undefined) return []
  if (uri === undefined && issuer === baseUrl)
    return [
      [
        'C335',
        '.jwt.keys',
        'the gateway would fetch the keys from itself before it is ready',
        'set jwt.keys.uri to the address of the key set at the authorization server itself',
      ],
    ]
  if (isProtectedAddress(uri ?? issuer)) return []
  // The gateway trusts unsigned introspection results from this address. An attacker on the connection could already
  // forge these results, so keys over http add no risk. Signed results and security events depend on the keys.
  const dependsOnKeys = introspection?.signed === true || securityEvents !== undefined
  if (uri !== undefined && !dependsOnKeys && isSameOrigin(uri, introspection?.endpoint ?? '')) return []
  return [
    [
      'C336',
      uri === undefined ? '.issuer' : '.jwt.keys.uri',
      'keys must be fetched over https, because an attacker could replace keys sent over http',
      'use https, or mount the keys and set jwt.keys.file. http is allowed on this machine. For unsigned results, http is also allowed at the origin of introspection.endpoint',
    ],
  ]
}

function isSameOrigin(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).origin === new URL(other).origin
}

/** Reports a `caFile` unless every connection to the issuer uses TLS. */
function findUnusedCa({ caFile, issuer, jwt, introspection, revocations }: IssuerEntry): readonly Problem[] {
  const metadata = jwt === undefined || jwt.keys?.file !== undefined ? undefined : (jwt.keys?.uri ?? issuer)
  const addresses = [metadata, introspection?.endpoint, revocations].filter((one) => one !== undefined)
  if (caFile === undefined || (addresses.length > 0 && addresses.every((one) => /^https:/i.test(one))))
    return []
  const plain = addresses.find((one) => !/^https:/i.test(one))
  return plain === undefined
    ? [['C339', '.caFile', 'the gateway never connects to this issuer', 'remove caFile']]
    : [['C339', '.caFile', `${plain} does not use https`, 'use https addresses, or remove caFile']]
}

/** Shortest time between two fetches of keys, regardless of the configuration. Milliseconds. */
const MIN_FETCH_INTERVAL_MS = 1_000
const MAX_TOLERANCE_MS = 60_000

function findInvalidTimes({ jwt }: IssuerEntry): readonly Problem[] {
  if (jwt === undefined) return []
  const times = { ...DEFAULTS.jwt, ...jwt }
  const problems: Problem[] = []
  const tolerance = milliseconds(times.clockTolerance)
  if (tolerance > MAX_TOLERANCE_MS || tolerance % 1_000 !== 0)
    problems.push([
      'C337',
      '.jwt.clockTolerance',
      'the tolerance must be at most 60s, in whole seconds',
      'remove clockTolerance to use 60s, and synchronize the clocks',
    ])
  for (const name of ['refresh', 'cooldown'] as const)
    if (milliseconds(times[name]) < MIN_FETCH_INTERVAL_MS)
      problems.push([
        'C338',
        `.jwt.${name}`,
        'the gateway fetches keys at most once per second',
        'set 1s or more',
      ])
  if (milliseconds(times.maxStale) < milliseconds(times.refresh))
    problems.push([
      'C338',
      '.jwt.maxStale',
      'must be at least as long as refresh',
      'set maxStale to at least the value of refresh',
    ])
  return problems
}

/**
 * Minimum of `maxRevocationDelay`. A stream counts as down only after this time without data. A working stream could
 * therefore exceed a shorter delay. Milliseconds.
 */
const MIN_DELAY_MS = 15_000

function findInvalidDelay(entry: IssuerEntry, file: GatewayFile): readonly Problem[] {
  const { jwt, introspection, revocations } = entry
  if (jwt?.maxRevocationDelay === undefined) return []
  const key = '.jwt.maxRevocationDelay'
  if (revocations === undefined && (file.revocationRedis ?? file.redis) === undefined)
    return [
      [
        'C338',
        key,
        'the gateway receives no revocations of this issuer',
        'set revocations or redis.url, or remove maxRevocationDelay',
      ],
    ]
  // An issuer that does not publish revocations in Redis has no revocation channel. Without introspection, the gateway
  // would then respond with 503 to every JWT that is older than the delay.
  if (introspection === undefined)
    return [
      [
        'C338',
        key,
        'after maxRevocationDelay, the gateway introspects JWTs, but introspection is not set',
        'set introspection, or remove maxRevocationDelay',
      ],
    ]
  return milliseconds(jwt.maxRevocationDelay) < MIN_DELAY_MS
    ? [
        [
          'C338',
          key,
          'the delay must be at least 15s: the gateway needs several seconds to detect an interrupted stream',
          'set 15s or more',
        ],
      ]
    : []
}

/**
 * Reports C346 for security events in three cases: the gateway cannot verify the events, the events do not match the
 * subjects of the tokens, or the events reach only one of several workers.
 */
export function findUnusableEvents(file: GatewayFile, shownAs: string): readonly Diagnostic[] {
  return file.issuers.flatMap(({ jwt, securityEvents }, index) => {
    if (securityEvents === undefined) return []
    const report = (message: string, hint: string): readonly Diagnostic[] => [
      diagnostic('C346', `issuers[${index}].securityEvents: ${message}`, wholeFile(shownAs), { hint }),
    ]
    if (jwt === undefined)
      return report(
        'the gateway has no keys to verify events',
        'add jwt: {}, because the keys of jwt also verify events',
      )
    const subject = jwt.claims?.subject ?? DEFAULTS.jwtClaims.subject
    if (subject !== 'sub')
      return report(
        `events identify subjects by the claim sub, but the tokens of this issuer by ${subject}`,
        'remove claims.subject or securityEvents',
      )
    if ((file.workers ?? 1) !== 1 && (file.revocationRedis ?? file.redis) === undefined)
      return report('an event would reach only one of several workers', 'set redis.url, or set workers to 1')
    return []
  })
}
